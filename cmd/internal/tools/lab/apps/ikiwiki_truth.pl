# Prints the pages of an ikiwiki by its index, a JSON object a line: articles and its own help. Pages without a marker
# in its source are lists, of posts, tags and months.
use strict;
use warnings;
use JSON;
use Storable;

my $src = shift;
my $pages = retrieve("$src/.ikiwiki/indexdb")->{page};
for my $source (sort keys %$pages) {
	my ($page) = $source =~ /(.*)\.mdwn$/;
	next if !defined $page || $page eq "recentchanges" || -e "$src/.ikiwiki/transient/$source";
	my $marker = "";
	if (open my $file, "<", "$src/$source") {
		($marker) = join("", <$file>) =~ /(mark\d{5}x)/ or next;
	}
	print JSON->new->canonical->encode({ object => "page $page", names => { page => $page }, marker => $marker }), "\n";
}

#!/bin/sh
# ikiwiki of Debian in git, with its CGI: articles are pages in directories, or posts of a blog with tags and an archive by month. Its own help pages are there, too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
export PERL5LIB="$PWD/root/usr/share/perl5" PATH="$PWD/root/usr/bin:$PATH"
share=$PWD/root/usr/share/ikiwiki

case $1 in
install)
	need git perl gcc libc6-dev libhtml-parser-perl libhtml-scrubber-perl libhtml-template-perl libjson-perl libmarkdown2 libtext-markdown-discount-perl liburi-perl \
		libyaml-libyaml-perl libcgi-pm-perl libcgi-formbuilder-perl libcgi-session-perl libtimedate-perl libxml-simple-perl libmail-sendmail-perl libpcre2-8-0 libnettle8 libxxhash0
	unpack ikiwiki lighttpd
	;;
fill)
	rm -rf wiki.git src html
	mkdir -p html/cgi-bin
	git init -q --bare -b master wiki.git
	python3 "$here/ikiwiki_import.py" <"$ARTICLES" | git -C wiki.git fast-import --quiet
	git clone -q wiki.git src
	cat >wiki.setup <<-YAML
		# IkiWiki::Setup::Yaml - YAML formatted setup file
		wikiname: Lab
		srcdir: $PWD/src
		destdir: $PWD/html
		underlaydirbase: $share
		underlaydir: $share/basewiki
		templatedir: $share/templates
		url: http://$HOST
		cgiurl: http://$HOST/cgi-bin/ikiwiki.cgi
		cgi_wrapper: $PWD/html/cgi-bin/ikiwiki.cgi
		cgi_wrappermode: 06755
		rcs: git
		rss: 1
		atom: 1
		discussion: 1
		tagbase: tags
		tag_autocreate: 1
		archive_pagespec: page(posts/*) and !*/Discussion
		calendar_autocreate: 1
		comments_pagespec: posts/* and !*/Discussion
		add_plugins: [goodstuff, comments, calendar, sidebar]
		gitorigin_branch: ""
		ENV: {PERL5LIB: $PERL5LIB, PATH: "$PATH"}
	YAML
	ikiwiki --setup wiki.setup --rebuild --gettime
	;;
truth) exec perl "$here/ikiwiki_truth.pl" src ;;
serve)
	cat >lighttpd.conf <<-CONF
		server.document-root = "$PWD/html"
		server.bind = "127.0.0.1"
		server.port = $PORT
		server.modules = ("mod_cgi")
		index-file.names = ("index.html")
		cgi.assign = (".cgi" => "")
		mimetype.assign = (".html" => "text/html; charset=utf-8", ".css" => "text/css", ".rss" => "application/rss+xml", ".atom" => "application/atom+xml", "" => "application/octet-stream")
	CONF
	exec root/usr/sbin/lighttpd -D -f lighttpd.conf -m root/usr/lib/lighttpd >serve.log 2>&1
	;;
esac

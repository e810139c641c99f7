#!/bin/sh
# public-inbox of Debian, out of the box: a list whose threads are articles with replies, indexed for search.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
export PERL5LIB="$PWD/root/usr/share/perl5" PI_CONFIG="$PWD/config" PATH="$PWD/root/usr/bin:$PATH"

case $1 in
install)
	need git perl libdbd-sqlite3-perl libemail-address-xs-perl libemail-mime-perl libinline-c-perl libnet-server-perl libparse-recdescent-perl \
		libplack-perl libsearch-xapian-perl libsocket-msghdr-perl liburi-perl xapian-tools
	unpack public-inbox libpublicinbox-perl
	;;
fill)
	rm -rf list config
	public-inbox-init -V2 list "$PWD/list" "http://$HOST/list/" list@lab.example >/dev/null 2>&1
	python3 "$here/publicinbox_import.py" "$HOST" <"$ARTICLES" | git -C list/git/0.git fast-import --quiet
	public-inbox-index --jobs=0 list
	;;
truth) exec python3 "$here/publicinbox_truth.py" list ;;
serve) exec public-inbox-httpd -W 2 -l "127.0.0.1:$PORT" >serve.log 2>&1 ;;
esac

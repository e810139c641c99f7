#!/bin/sh
# gitweb, which comes with Debian's git, on the same repository as cgit.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

case $1 in
install)
	need git perl libcgi-pm-perl
	printf '$projectroot = "%s";\n$site_name = "Lab";\n$my_uri = "/";\n$base_url = "/";\n' "$PWD" >gitweb.conf
	;;
fill)
	rm -rf lab.git
	git init -q --bare -b master lab.git
	python3 "$here/git_import.py" <"$ARTICLES" | git -C lab.git fast-import --quiet
	;;
truth) exec python3 "$here/git_truth.py" lab.git ;;
esac

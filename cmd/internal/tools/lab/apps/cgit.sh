#!/bin/sh
# cgit of Debian, with one repository: each revision of an article is a commit of its file; some tags and a branch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

case $1 in
install)
	need git liblua5.1-0
	unpack cgit
	printf 'virtual-root=/\nenable-index-links=1\nenable-commit-graph=1\nenable-log-filecount=1\nenable-log-linecount=1\nsnapshots=tar.gz\ncache-size=0\nrepo.url=lab\nrepo.path=%s/lab.git\nrepo.desc=Seeded\nrepo.owner=Lab\n' "$PWD" >cgitrc
	;;
fill)
	rm -rf lab.git
	git init -q --bare -b master lab.git
	python3 "$here/git_import.py" <"$ARTICLES" | git -C lab.git fast-import --quiet
	;;
truth) exec python3 "$here/git_truth.py" lab.git ;;
esac

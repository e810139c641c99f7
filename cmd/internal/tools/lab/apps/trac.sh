#!/bin/sh
# Trac of PyPI on SQLite: articles are tickets with comments or wiki pages with versions; its own help pages are there, too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

case $1 in
install)
	python3 -m venv venv
	venv/bin/pip install -q --disable-pip-version-check 'setuptools<80' Trac==1.6 Jinja2 MarkupSafe
	venv/bin/trac-admin env initenv Lab sqlite:db/trac.db >/dev/null
	venv/bin/trac-admin env config set trac base_url "http://$HOST" >/dev/null
	venv/bin/trac-admin env config set logging log_type none >/dev/null
	;;
fill) venv/bin/python "$here/trac_fill.py" env <"$ARTICLES" ;;
truth) exec python3 "$here/trac_truth.py" env/db/trac.db ;;
serve) exec venv/bin/tracd --hostname=127.0.0.1 --port="$PORT" -s env >serve.log 2>&1 ;;
esac

#!/bin/sh
# Joyous of PyPI, a calendar for Wagtail, on SQLite: a year of events, some of which take place each week from then on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
export PYTHONPATH="$here" DJANGO_SETTINGS_MODULE=joyous_site

case $1 in
install)
	python3 -m venv venv
	venv/bin/pip install -q --disable-pip-version-check 'setuptools<80' ls-joyous==1.4.0 wagtail==2.12.6 holidays==0.11.1 icalendar==4.0.9
	sed -i 's/\$(?i)"/$"/' venv/lib/python3*/site-packages/ls/joyous/models/calendar.py # Python 3.11 refuses a flag there
	mkdir -p templates
	printf '<!DOCTYPE html><title>{{ page.title }}</title>{%% block content %%}{%% endblock %%}<p><a href="/">Calendar</a></p>\n' >templates/base.html
	;;
fill)
	rm -f joyous.sqlite
	venv/bin/python -m django migrate -v 0
	venv/bin/python "$here/joyous_fill.py" <"$ARTICLES"
	;;
truth) exec venv/bin/python "$here/joyous_truth.py" ;;
serve) exec venv/bin/python -m django runserver --noreload "127.0.0.1:$PORT" >serve.log 2>&1 ;;
esac

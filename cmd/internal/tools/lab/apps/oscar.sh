#!/bin/sh
# Oscar of PyPI (a shop on Django) on SQLite: products in nested categories, with reviews and offers.
# Facets by Xapian, since Solr and Elasticsearch are in neither Debian nor PyPI, and Haystack's other backends have no facets.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
export PYTHONPATH="$here/oscar" PYTHONDONTWRITEBYTECODE=1 DJANGO_SETTINGS_MODULE=settings PYTHONWARNINGS=ignore

case $1 in
install)
	python3 -m venv venv
	venv/bin/pip install -q --disable-pip-version-check django-oscar==4.2.1 'Django<5.3' xapian-haystack==4.0.0 xapian-bindings-binary==1.4.26 sorl-thumbnail==13.4.0 gunicorn==27.0.1
	;;
fill)
	rm -rf shop.db search media
	venv/bin/django-admin migrate -v 0
	venv/bin/python "$here/oscar/fill.py" <"$ARTICLES"
	venv/bin/django-admin rebuild_index --noinput -v 0
	;;
truth) exec venv/bin/python "$here/oscar/truth.py" shop.db ;;
serve) exec venv/bin/gunicorn -w 3 -b "127.0.0.1:$PORT" --log-level error 'django.core.wsgi:get_wsgi_application()' >serve.log 2>&1 ;;
esac

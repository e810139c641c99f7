#!/bin/sh
# MediaWiki of Debian on SQLite, out of the box: articles with histories, categories, redirects, some talk pages.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
wiki=$PWD/root/usr/share/mediawiki

case $1 in
install)
	need php-cli php-apcu php-sqlite3 php-xml php-mbstring php-intl
	unpack mediawiki mediawiki-classes
	# Debian's tree points into /etc and /var. Ours is complete in itself.
	for name in LocalSettings.php config images extensions; do rm -f "$wiki/$name"; done
	mkdir -p "$wiki/images" "$wiki/extensions" data
	php "$wiki/maintenance/install.php" --dbtype sqlite --dbname wiki --dbpath "$PWD/data" --server "http://$HOST" \
		--scriptpath '' --pass 'lab-password-1' --skins Vector Lab Admin >/dev/null
	# Only for speed: the texts of the interface and the code in files and memory, no jobs while pages are served.
	mkdir -p cache
	printf '$wgCacheDirectory = "%s/cache";\n$wgLocalisationCacheConf["store"] = "array";\n$wgJobRunRate = 0;\n$wgMainCacheType = CACHE_ACCEL;\n' "$PWD" >>"$wiki/LocalSettings.php"
	;;
fill)
	python3 "$here/mediawiki_dump.py" <"$ARTICLES" >dump.xml
	cd "$wiki/maintenance"
	php importDump.php --quiet --uploads --username-prefix='' "$OLDPWD/dump.xml" >/dev/null 2>&1
	python3 "$here/mediawiki_dump.py" front <"$ARTICLES" | php edit.php --quiet --user Writer1 'Main Page'
	php rebuildrecentchanges.php --quiet >/dev/null
	php initSiteStats.php --update --quiet >/dev/null
	php runJobs.php --quiet >/dev/null
	php rebuildtextindex.php --quiet >/dev/null 2>&1 || true
	;;
truth) exec python3 "$here/mediawiki_truth.py" data/wiki.sqlite ;;
serve) php_serve "$wiki" ;;
esac

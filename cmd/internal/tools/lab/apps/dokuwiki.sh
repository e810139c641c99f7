#!/bin/sh
# DokuWiki of Debian, out of the box: pages in namespaces with old revisions. Its database is its files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
wiki=$PWD/root/usr/share/dokuwiki

case $1 in
install)
	need php-cli php-xml php-mbstring php-geshi php-phpseclib php-phpseclib3 php-random-compat libphp-simplepie
	unpack dokuwiki
	mkdir -p "$wiki/conf" data
	cp -RL root/etc/dokuwiki/. "$wiki/conf" 2>/dev/null || true
	for name in plugins tpl; do
		rm -f "$wiki/lib/$name"
		cp -R "root/var/lib/dokuwiki/lib/$name" "$wiki/lib/$name"
	done
	cp -R root/var/lib/dokuwiki/data/. data
	printf '<?php\nif(!defined("DOKU_CONF")) define("DOKU_CONF", "%s/conf/");\nif(!defined("DOKU_MAIN_CONF")) define("DOKU_MAIN_CONF", DOKU_CONF);\n' "$wiki" >"$wiki/inc/preload.php"
	printf '<?php\n$conf["savedir"] = "%s/data";\n$conf["title"] = "Lab";\n$conf["useacl"] = 0;\n' "$PWD" >"$wiki/conf/local.php"
	;;
fill) php "$here/dokuwiki_fill.php" "$wiki" "$ARTICLES" ;;
truth) exec python3 "$here/dokuwiki_truth.py" data ;;
serve) php_serve "$wiki" ;;
esac

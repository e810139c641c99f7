#!/bin/sh
# WordPress of Debian on MariaDB: posts with comments, categories, tags, an archive by month, some pages.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
site=$PWD/root/usr/share/wordpress

database() {
	mariadbd --no-defaults --user="$(id -un)" --datadir="$PWD/db" --socket="$PWD/db.sock" --skip-networking --pid-file="$PWD/db.pid" >db.log 2>&1 &
	for _ in $(seq 100); do [ -S db.sock ] && return; sleep 0.2; done
}

case $1 in
install)
	need php-cli php-mysql php-xml php-mbstring php-gd php-getid3 mariadb-server-core mariadb-client-core libjs-cropper libjs-underscore ca-certificates
	unpack wordpress wordpress-theme-twentytwentyone
	rm -f "$site/wp-config.php"
	find root/var/lib/wordpress/wp-content -type l -delete # to themes, which are in the tree
	cp -R root/var/lib/wordpress/wp-content/. "$site/wp-content"
	mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$PWD/db" --auth-root-authentication-method=normal >/dev/null 2>&1
	cat >"$site/wp-config.php" <<-PHP
		<?php
		define('DB_NAME', 'wordpress'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', 'localhost:$PWD/db.sock');
		define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
		define('WP_HOME', 'http://$HOST'); define('WP_SITEURL', 'http://$HOST');
		define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('AUTOMATIC_UPDATER_DISABLED', true);
		define('AUTH_KEY', 'a'); define('SECURE_AUTH_KEY', 'b'); define('LOGGED_IN_KEY', 'c'); define('NONCE_KEY', 'd');
		define('AUTH_SALT', 'e'); define('SECURE_AUTH_SALT', 'f'); define('LOGGED_IN_SALT', 'g'); define('NONCE_SALT', 'h');
		\$table_prefix = 'wp_';
		if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
		require_once ABSPATH . 'wp-settings.php';
	PHP
	;;
fill | truth)
	database
	trap 'kill $(cat db.pid)' EXIT
	php "$here/wordpress_$1.php" "$site" "$ARTICLES" "$HOST"
	;;
serve)
	database
	trap 'kill $(cat db.pid)' EXIT TERM
	(php_serve "$site") &
	wait
	;;
esac

# Helpers of the scripts of applications. Each script is called as: APP.sh VERB, in the application's own
# directory, with ARTICLES (a JSON file of seed.py), HOST and, for serve, PORT.

# unpack PACKAGE... unpacks Debian packages into ./root without installing them: no service is started,
# and nothing outside of this directory changes.
unpack() {
	mkdir -p debs root
	(cd debs && apt-get -q download "$@" 2>/dev/null)
	for deb in debs/*.deb; do dpkg -x "$deb" root; done
}

# need PACKAGE... installs what the application needs of the machine: interpreters and libraries.
need() {
	dpkg -s "$@" >/dev/null 2>&1 && return
	apt-get -q update >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" >/dev/null
}

php_serve() { # php_serve DOCROOT [ROUTER]
	PHP_CLI_SERVER_WORKERS=3 exec php -d opcache.enable_cli=1 -d opcache.validate_timestamps=0 -d opcache.memory_consumption=256 -d opcache.max_accelerated_files=20000 -d apc.enable_cli=1 -d memory_limit=512M -d display_errors=0 \
		-S "127.0.0.1:$PORT" -t "$@" >serve.log 2>&1
}

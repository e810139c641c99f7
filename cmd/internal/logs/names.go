package logs

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Tables, W3C logs, Zeek's logs and objects of JSON have names for what a record is made of, and everyone
// chooses others. The words are one vocabulary; a reader brings the way to look a word up.

// A meaning is what a column or field is for.
type meaning int

// The meanings.
const (
	aURL meaning = iota
	aPath
	aQuery
	aHost
	aScheme
	aPort
	aStatus
	aTime
	aDigest
	aType
	aLength
	aRedirect
	aReferrer
	anError  // says that there was no answer
	aSuccess // or that there was one
	meanings
)

// vocabulary has the names of each meaning, the more telling first, as plainName writes them. A dot parts the names of
// nested objects.
var vocabulary = [meanings][]string{
	aURL: {"matchedat", "webpageurl", "url", "metadata.sourceurl", "originaluri", "originalurl", "original", "request.endpoint", "request.url", "httprequest.requesturl", "url.full", "url.original", "pageurl", "pagelocation", "permalink", "fullurl", "requesturl",
		"finalurl", "loc", "address", "urladdress", "link", "href", "uri", "csuri", "endpoint", "toppages", "page", "pages", "landingpage", "output", "requesturi", "page.url",
		"adresse", "dirección", "indirizzo", "endereço", "adres", "adress", "adresurl", "urladresse", "адрес", "страница", "адресстраницы", "ページ", "アドレス", "网址", "주소"},
	aPath:  {"csuristem", "csuripath", "requesturi", "requestpath", "uri", "path", "pagepath", "pathname", "clientrequesturi", "request.uri", "request", "url", "url.original", "url.path", "http.url", "req.url"},
	aQuery: {"csuriquery", "requestquery", "args", "querystring", "query", "url.query"},
	aHost:  {"url.domain", "http.hostname", "xhostheader", "cshost", "cs(host)", "httphost", "host", "authority", "hostname", "domain", "vhost", "servername", "clientrequesthost", "request.host", "requestaddr", "requesthost", "req.headers.host", "site", "website", "subdomain", "fqdn"},
	aScheme: {"csprotocol", "csurischeme", "scheme", "url.scheme", "clientrequestscheme", "requestscheme", "proto", "protocol", "sslenabled", "https", "ssl", "tls", "isssl", "istls",
		"sslprotocol", "tlsversion", "xforwardedproto", "proxy.scheme"},
	aPort: {"serverport", "csuriport", "port", "sport"}, // sport is the port of the server in W3C logs, which have no port, and of the client elsewhere
	aStatus: {"statuscode", "httpstatuscode", "httpstatus", "httpcode", "responsecode", "scstatus", "fetchstatus", "edgeresponsestatus", "status", "response.statuscode", "response.status", "http.response.statuscode", "http.status",
		"httprequest.status", "fetch.status", "crawl.httpstatuscode", "res.statuscode", "metadata.statuscode", "#debug.statuscode", "responsestatus", "downstreamstatus", anyStatus, "code"},
	aTime:     {"startutc", "timestamp", "fetchtime", "time", "ts", anyTime, "date", "@timestamp", "datum", "zeitstempel", "fecha", "дата", "日時", "createdat", "created", "datecreated"},
	aDigest:   {"digest", "payloaddigest", "sha1", "contentdigest", "signature"},
	aType:     {"contentmimedetected", "contentmimetype", "mime", "mimetype", "contenttype"},
	aLength:   {"warcrecordlength", "length", "scbytes", "size", "bytes", "contentlength"},
	aRedirect: {"fetchredirect", "redirect", "redirecturl", "redirecttarget", "redirectlocation"},
	aReferrer: {"referer", "referrer", "cs(referer)", "httpreferer", "requestreferer", "request.headers.referer", "via", "parent"},
	anError: {"error", "err", "exception", "#error", "failed", "isfailed", "errors", "errormessage", "errormessages", "failuredetails", "exitcode",
		"dead", "isdead", "broken", "isbroken", "is404", "queued", "isqueued", "pending", "ispending", "tocrawl", "todo", "skipped", "isskipped", "blocked", "isblocked"},
	aSuccess: {"success", "succeeded", "successful", "valid", "isvalid", "reachable", "issuccess", "issuccessful", "ok", "resultok", "fetched", "alive", "isalive"},
}

// plainName writes a name as the vocabulary does: programs write status_code, Status Code, statusCode and status-code.
func plainName(s string) string {
	s = squeezed(s)
	switch {
	case strings.Contains(s, "status") || strings.Contains(s, "code") || s == "response":
		if !slices.Contains(vocabulary[aStatus], s) && someStatus.MatchString(s) && !ofOthers.MatchString(s) {
			return anyStatus
		}
	case timely(s) && !slices.Contains(vocabulary[aTime], s) && !slices.Contains(vocabulary[aSuccess], s) && someTime.MatchString(s):
		return anyTime
	}
	return s
}

// timely reports whether a name ends as one of someTime can: a regular expression for each field of each line would take longer than the rest.
func timely(s string) bool {
	return strings.HasSuffix(s, "time") || strings.HasSuffix(s, "date") || strings.HasSuffix(s, "stamp") || strings.HasSuffix(s, "edat") || strings.HasSuffix(s, "edon") ||
		strings.HasSuffix(s, "ed") || strings.HasSuffix(s, "utc") || len(s) > 4 && strings.HasSuffix(s, "ts")
}

// squeezed writes a name without what parts its words, in small letters.
func squeezed(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' }) < 0 {
		return s // as most are
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' || r == '?' {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.Trim(strings.TrimSpace(s), "\"'"))
}

// anyStatus and anyTime stand for names that match someStatus and someTime but are not in the vocabulary.
const (
	anyStatus = "any status"
	anyTime   = "any time"
)

var someStatus = regexp.MustCompile(`^(?:http|web|last|final|crawl|fetch|response|resp|page|server|client)+(?:status|statuscode|responsecode|responsestatus)$|` +
	`^(?:page|server|client)?(?:http|web|last|final|crawl|fetch|response|resp)+code$|^response$|^[a-z]*[./:]?(?:http)?statuscode|httpstatus|^[a-z]*[./:](?:status|httpcode)$`) // a page code is an id

// someTime matches neither durations, such as a response time, nor when a page was published or changed.
var someTime = regexp.MustCompile(`^(?:date|datetime|timestamp|time|was|last|http|edge|log|event)*(?:(?:start|request|crawl|fetch|visit|retriev|scrap|download|captur|check|access)(?:ed|e|d)?)?` +
	`(?:at|on|date|datetime|timestamp|timestamputc|ts|(?:crawl|fetch|visit|retriev|scrap|captur|access|check)ed|(?:crawl|visit|start|event|log|access)time)$`)

// someError matches names of error columns that are not in the vocabulary.
var someError = regexp.MustCompile(`^(?:http|web|dns|net|network|connection|connect|curl|tls|ssl|last|final|crawl|crawler|fetch|request|response|page|load|download|server|client|js)*error(?:s|messages?|msg|text|code|no|class|type|kind|name|reason|string|description|details?)?$`)

// isScheme reports whether a text is a scheme, or says of a connection whether it was encrypted.
func isScheme(s string) bool { return encrypted.MatchString(s) || plaintext.MatchString(s) }

var (
	encrypted = regexp.MustCompile(`^(?i:https|on|true|yes|1|tlsv?[\d._]*|sslv[\d._]+)$`)
	plaintext = regexp.MustCompile(`^(?i:http|off|false|no|0)$`)
)

// compose makes the URL of a target that begins with "/" and of the other parts that a log has beside it. Without a host the
// target is of the base. Without any sign of the scheme http is assumed.
func compose(host, target string, get func(meaning) string, opt *Options) (url string, assumed bool) {
	if query := get(aQuery); strings.IndexByte(query, ' ') < 0 { // or it is what someone searched for
		target = addQuery(target, query)
	}
	if strings.Contains(host, "://") {
		return strings.TrimSuffix(host, "/") + target, false
	}
	if host != "" {
		return site(cmp.Or(get(aScheme), opt.Scheme, schemeOf(opt.Base)), host, get(aPort)) + target, schemeless(host, get, opt)
	}
	return opt.Base + target, false
}

// schemeless reports whether neither the record nor the options give the scheme of a host.
func schemeless(host string, get func(meaning) string, opt *Options) bool {
	port := get(aPort)
	if _, inHost, ok := strings.Cut(host, ":"); ok {
		port = inHost
	}
	return cmp.Or(get(aScheme), opt.Scheme, schemeOf(opt.Base)) == "" && port != "80" && port != "443"
}

var errSchemeless = bad("got a host and a path without a scheme; for https://, add --scheme https")

// schemeOf is the scheme of a base that the caller gave: also of hosts whose log doesn't say theirs.
func schemeOf(base string) string {
	scheme, _, _ := strings.Cut(base, "://")
	if base == DefaultBase {
		return ""
	}
	return scheme
}

// site returns scheme, host and port of a URL. A port of 443 or 80 decides over the scheme; what is no port is left out.
func site(scheme, host, port string) string {
	host, _ = bracket(host)
	switch {
	case port == "443" || strings.HasSuffix(host, ":443") || port != "80" && !strings.HasSuffix(host, ":80") && encrypted.MatchString(scheme):
		scheme, host = "https", strings.TrimSuffix(host, ":443")
	default:
		scheme, host = "http", strings.TrimSuffix(host, ":80")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 && n != 80 && n != 443 && !strings.Contains(host[strings.IndexByte(host, ']')+1:], ":") {
		host += ":" + port
	}
	return scheme + "://" + host
}

// addQuery puts a query that a log has apart behind a target, unless the target has it as well.
func addQuery(target, query string) string {
	if query = strings.TrimPrefix(given(query), "?"); query == "" || strings.HasSuffix(target, "?"+query) {
		return target
	}
	if strings.Contains(target, "?") {
		return target + "&" + query
	}
	return target + "?" + query
}

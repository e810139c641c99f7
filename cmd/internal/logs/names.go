package logs

import (
	"cmp"
	"regexp"
	"strings"
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
	meanings
)

// vocabulary has the names of each meaning, the more telling first, as plainName writes them. A dot parts the names of
// nested objects.
var vocabulary = [meanings][]string{
	aURL: {"url", "original_uri", "original_url", "original", "request.endpoint", "request.url", "url.full", "url.original", "matched_at", "page_url", "page_location", "permalink", "full_url", "request_url",
		"loc", "address", "url_address", "link", "href", "uri", "cs_uri", "endpoint", "top_pages", "page", "pages", "landing_page", "output"},
	aPath:     {"cs_uri_stem", "request_uri", "requestpath", "uri", "path", "page_path", "ClientRequestURI", "RequestPath", "request.uri", "requestUri", "request", "url", "url.original", "url.path", "http.url"},
	aQuery:    {"cs_uri_query", "requestQuery", "args", "query_string", "query", "url.query"},
	aHost:     {"url.domain", "http.hostname", "x_host_header", "cs_host", "cs(host)", "http_host", "host", "authority", "hostname", "domain", "vhost", "server_name", "ClientRequestHost", "request.host", "RequestAddr", "RequestHost"},
	aScheme:   {"cs_protocol", "scheme", "url.scheme", "ClientRequestScheme", "RequestScheme"},
	aPort:     {"s_port", "server_port"},
	aStatus:   {"status_code", "statuscode", "http_status_code", "http_status", "http_code", "response_code", "responsecode", "sc_status", "fetch_status", "status", "response.status_code", "response.status", "http.response.status_code", "http.status", "#debug.statusCode", "response_status", "DownstreamStatus", "code"},
	aTime:     {"StartUTC", "timestamp", "fetch_time", "fetchtime", "time", "ts", "date", "@timestamp"},
	aDigest:   {"digest", "payload_digest", "sha1", "content_digest", "signature"},
	aType:     {"mime", "mime_type", "mimetype", "content_type"},
	aLength:   {"length", "sc_bytes", "size", "bytes", "content_length"},
	aRedirect: {"redirect", "redirect_url", "redirect_target", "redirectlocation"},
	aReferrer: {"referer", "referrer", "cs(referer)", "http_referer", "request_Referer", "request.headers.Referer", "via", "parent"},
}

// plainName writes a name as the vocabulary does.
func plainName(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(s))
}

// failures are words for a request that no server answered. Tools write them where others write a status.
var failures = regexp.MustCompile(`(?i)^(?:connect|dns)|fail|error|time[d -]*out|refused|reset|unreachable|unresolved|no such host|not[ _]?found|not[ _]fetched|unfetched|aborted|blocked|dead|broken|down$|skipped|pending|queued`)

// successes are what the same column has for the others.
var successes = regexp.MustCompile(`(?i)^(?:ok|okay|success(?:ful)?|succeeded|done|fetched|crawled|completed?|good|passed|alive|up)$`)

// compose makes the URL of a target that begins with "/" and of the other parts that a log has beside it. Without a host the
// target is of the base.
func compose(host, target string, get func(meaning) string, opt *Options) string {
	if query := get(aQuery); strings.IndexByte(query, ' ') < 0 { // or it is what someone searched for
		target = addQuery(target, query)
	}
	if host != "" {
		return site(cmp.Or(get(aScheme), opt.Scheme, schemeOf(opt.Base)), host, get(aPort)) + target
	}
	return opt.Base + target
}

// schemeOf is the scheme of a base that the caller gave: also of hosts whose log doesn't say theirs.
func schemeOf(base string) string {
	scheme, _, _ := strings.Cut(base, "://")
	if base == DefaultBase {
		return ""
	}
	return scheme
}

// site returns scheme, host and port of a URL. A port of 443 or 80 decides over the scheme.
func site(scheme, host, port string) string {
	switch scheme = strings.ToLower(scheme); {
	case port == "443" || strings.HasSuffix(host, ":443"):
		scheme = "https"
	case port == "80" || strings.HasSuffix(host, ":80") || scheme != "http" && scheme != "https":
		scheme = "http"
	}
	switch {
	case scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	default:
		host = strings.TrimSuffix(host, ":80")
	}
	if port != "" && port != "80" && port != "443" && !strings.Contains(host[strings.IndexByte(host, ']')+1:], ":") {
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

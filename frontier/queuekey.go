package frontier

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// QueueFunc returns the queue key of a URL, at most store.MaxQueueKey bytes, ""
// if it has none (the URL is then refused as [ReasonQueue]). It is called with
// the canonical form, or with the URL as found in an exact crawl and under
// profiles whose forms hide the host (surt, none). It must be safe for
// concurrent use, and should give equal keys for equal forms.
type QueueFunc func(url string) string

// ByHost queues by host name, in lower case, without user and port: the
// servers behind several ports of a name are taken for one machine.
func ByHost(url string) string {
	start := strings.Index(url, "://") + 3
	if start < 3 {
		return ""
	}
	if n := strings.IndexByte(url[start:], '/'); n >= 0 && isPlainHost(url[start:start+n]) {
		return url[start : start+n] // most are, and this is done for every URL that is offered
	}
	end, port, lower := len(url), -1, true
scan:
	for i := start; i < len(url); i++ {
		switch c := url[i]; {
		case c == '/' || c == '?' || c == '#' || c == '\\':
			end = i
			break scan
		case c == '@':
			start, port = i+1, -1
		case c == ':':
			port = i
		case c == ']':
			port = -1 // what colons there were belong to the address
		case 'A' <= c && c <= 'Z' || c >= 0x80:
			lower = false
		}
	}
	if port >= 0 {
		end = port
	}
	if lower {
		return url[start:end]
	}
	return strings.ToLower(url[start:end])
}

// isPlainHost reports whether a host has nothing but lower-case letters, digits, dots and hyphens.
func isPlainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// ByDomain queues by registered domain (one label more than the public
// suffix), so that a.example.com and b.example.com share one queue. IP
// addresses and names without a registered domain are queued by host.
func ByDomain(url string) string {
	host := ByHost(url)
	if isIP(host) {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(host, "."))
	if err != nil {
		return host
	}
	return domain
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

package frontier

import (
	"net/netip"
	"strings"
	"sync"

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

// ByIP queues by the address that resolve returns for a host name, so that many
// names on one server share one queue. Names that can't be resolved are queued
// by host. Answers are kept for up to 65,536 hosts; resolve is called by
// several goroutines, and its answers should be the same for the life of a
// host, since a URL stays in the queue it was put in.
func ByIP(resolve func(host string) (netip.Addr, error)) QueueFunc {
	c := &addrCache{resolve: resolve, known: make(map[string]string)}
	return func(url string) string { return c.get(ByHost(url)) }
}

const maxAddrCache = 1 << 16

// addrCache keeps the queue keys of hosts; when it is full it begins again.
type addrCache struct {
	resolve func(host string) (netip.Addr, error)
	mu      sync.Mutex
	known   map[string]string
}

func (c *addrCache) get(host string) string {
	if host == "" || isIP(host) {
		return host
	}
	c.mu.Lock()
	key, ok := c.known[host]
	c.mu.Unlock()
	if ok {
		return key
	}
	key = host
	if addr, err := c.resolve(host); err == nil {
		key = addr.Unmap().String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxAddrCache {
		clear(c.known)
	}
	c.known[strings.Clone(host)] = key
	return key
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

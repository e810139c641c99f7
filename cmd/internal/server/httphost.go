package server

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// guardHost refuses requests by names that are not known to be this daemon's. A
// web page can point its own name at this daemon's address (DNS rebinding), and the
// browser then lets the page read the answers. Tokens stop such a page, and so does
// TLS, since no certificate has its name. Health is open to all.
func (s *httpAPI) guardHost(next http.Handler) http.Handler {
	if s.tokens != nil || s.tls {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isOwnHost(r.Host) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			writeError(w, http.StatusForbidden, "host", fmt.Sprintf(
				"cannot serve the host name %.100q without tokens or TLS; use an IP address or localhost, or start the daemon with --http-host %.100s",
				r.Host, hostName(r.Host)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether a Host header is an IP address, localhost, or a name of
// Config.HTTPHosts. A page has no way to send one of the first two for its own name.
func (s *httpAPI) isOwnHost(header string) bool {
	host := hostName(header)
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		slices.ContainsFunc(s.cfg.HTTPHosts, func(own string) bool { return hostName(own) == host })
}

// hostName returns the host of a Host header in lower case, without its port,
// brackets and final dot.
func hostName(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// checkHosts refuses names that no Host header can have.
func checkHosts(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "/:@ *") {
			return fmt.Errorf("cannot serve; got --http-host %q; want a host name without scheme, port and wildcard", name)
		}
	}
	return nil
}

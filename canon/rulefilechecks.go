package canon

import (
	"fmt"
	"strings"
)

// scopeHost checks a host and gives its canonical form.
func scopeHost(s string) (string, error) {
	prefix, host := "", s
	if s == "*" {
		return s, nil
	}
	if domain, ok := strings.CutPrefix(s, "*."); ok {
		prefix, host = "*.", domain
	}
	w := &work{}
	w.host, w.port = cutPort(host)
	w.literal = strings.HasPrefix(host, "[")
	for _, rule := range []func(*work) error{(*work).lowercaseHost, (*work).hostToASCII, (*work).canonicalIP} {
		if err := rule(w); err != nil || w.port != "" {
			return "", fmt.Errorf(`got host %q; want a valid one without port, "*.domain" or "*"`, s)
		}
	}
	return prefix + w.host, nil
}

// scopePath checks a path and gives its canonical form.
func scopePath(s string) (string, error) {
	path := normalizeEscapes(s, pathRaw)
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, `?#\`) || withoutDots(path) != path {
		return "", fmt.Errorf(`got path %q; want one that begins with "/", without "?", "#", "\" and dot segments`, s)
	}
	return path, nil
}

func scopeName(s string) (string, error) {
	if s == "" || strings.ContainsAny(s, "&=#") || strings.Contains(strings.TrimSuffix(s, "*"), "*") {
		return "", fmt.Errorf(`got parameter name %q; want one without "&", "=" and "#" (write %%26, %%3D, %%23), "*" at most at the end`, s)
	}
	return s, nil
}

// siteHost checks the host of an entry for a site.
func siteHost(s string) (string, error) {
	host, err := scopeHost(s)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(host, ".") || len(stripWWW([]byte(host))) < len(host) {
		return "", fmt.Errorf(`got host %q; want it without "www." and final dot: an entry holds with and without`, s)
	}
	return host, nil
}

// sitePath checks the path of an entry for a site. A final slash makes no difference.
func sitePath(s string) (string, error) {
	path, err := scopePath(s)
	if err != nil {
		return "", err
	}
	w := &work{parts: parts{path: path}, on: siteFolds}
	for _, rule := range []func(*work) error{(*work).collapseSlashes, (*work).stripTrailingSlash, (*work).stripIndex} {
		_ = rule(w) // these can't fail
	}
	trimmed := strings.TrimSuffix(path, "/")
	if trimmed != strings.TrimSuffix(w.path, "/") {
		return "", fmt.Errorf(`got path %q; want it without "//" and default document: an entry holds with and without`, s)
	}
	return trimmed, nil
}

package canon

import (
	"fmt"
	"strconv"
	"strings"
)

// surtURL is what a SURT is made of. An empty host stands for none, port 0 for none.
type surtURL struct {
	scheme, host, path, query string
	port                      uint64
}

// splitSURT cuts a URL leniently: "http://" is put before what has no scheme, only the
// last of several schemes in a row counts, and an http URL takes its host from the path
// if there is none where it should be.
func splitSURT(raw string) (surtURL, error) {
	s := dropNewlines(strings.Trim(raw, " \t\n\r\v\f"))
	if s == "" {
		return surtURL{}, fmt.Errorf("cannot make a SURT; got %s; want more than blanks: %w", quote(raw), ErrURL)
	}
	if schemeLen(s) < 0 {
		s = "http://" + s
	}
	s = lastScheme(s)
	n := schemeLen(s)
	u := surtURL{scheme: s[:n]}
	s, _, _ = strings.Cut(s[n+1:], "#")
	s, u.query, _ = strings.Cut(s, "?")
	if strings.HasPrefix(s, "//") {
		var err error
		if u.host, u.port, s, err = cutSURTHost(s[2:]); err != nil {
			return u, fmt.Errorf("cannot make a SURT; got %s: %w", quote(raw), err)
		}
	}
	if u.path = s; u.host == "" && s != "" && strings.HasPrefix(u.scheme, "http") {
		u.host, s, _ = strings.Cut(strings.TrimLeft(s, "/"), "/")
		u.path = "/" + s
	}
	return u, nil
}

// lastScheme drops "http://" and "https://" that stand before another of them.
func lastScheme(s string) string {
	isWeb := func(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }
	for isWeb(s) {
		rest := s[strings.Index(s, "//")+2:]
		if !isWeb(rest) {
			break
		}
		s = rest
	}
	return s
}

// cutSURTHost cuts off an authority and gives its host without brackets and userinfo,
// its port, and the path behind it.
func cutSURTHost(s string) (host string, port uint64, path string, err error) {
	authority, path := cutBefore(s, "/")
	authority = strings.TrimRight(authority, ":")
	host = authority[strings.LastIndexByte(authority, '@')+1:]
	digits, hasPort := "", false
	if _, inside, ok := strings.Cut(host, "["); ok {
		host, digits, _ = strings.Cut(inside, "]")
		_, digits, hasPort = strings.Cut(digits, ":")
	} else {
		host, digits, hasPort = strings.Cut(host, ":")
	}
	if !hasPort {
		return host, 0, path, nil
	}
	if digits == "" || !allDigits([]byte(digits)) {
		return "", 0, "", fmt.Errorf("port %s, which is no number: %w", quote(digits), ErrURL)
	}
	if port, err = strconv.ParseUint(digits, 10, 16); err != nil {
		return "", 0, "", fmt.Errorf("port %s above 65535: %w", quote(digits), ErrURL)
	}
	return host, port, path, nil
}

package canon

import (
	"bytes"
	"strings"
)

// hashedPort is the default port of the schemes whose authority is known to be
// user, host and port; "" for any other scheme.
func hashedPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	case "gopher":
		return "70"
	case "telnet":
		return "23"
	case "nntp":
		return "119"
	case "ldap":
		return "389"
	case "rtsp":
		return "554"
	}
	return ""
}

// appendHashedAuthority appends an authority after steps 1 to 5: an empty user goes,
// the host is lower-cased, zeros that lead a number go, and so does the default port.
// The authority of a scheme that is not known stays as it is.
func appendHashedAuthority(dst, authority []byte, scheme string) []byte {
	defaultPort := hashedPort(scheme)
	if defaultPort == "" {
		return append(dst, authority...)
	}
	if i := bytes.LastIndexByte(authority, '@'); i >= 0 {
		if i > 0 {
			dst = append(dst, authority[:i+1]...)
		}
		authority = authority[i+1:]
	}
	host, port, hasPort := cutHashedPort(authority)
	dst = appendHashedHost(dst, host)
	port = trimZeros(port)
	if hasPort && len(port) > 0 && string(port) != defaultPort {
		dst = append(append(dst, ':'), port...)
	}
	return dst
}

// cutHashedPort cuts off a port: digits, or nothing, behind the last colon. The default
// port is compared as a number, so it is cut here before zeros are dropped.
func cutHashedPort(s []byte) (host, port []byte, ok bool) {
	i := bytes.LastIndexByte(s, ':')
	if i < 0 || !allDigits(s[i+1:]) {
		return s, nil, false
	}
	return s[:i], s[i+1:], true
}

func appendHashedHost(dst, host []byte) []byte {
	if n := len(host); n >= 2 && host[0] == '[' && host[n-1] == ']' {
		dst = append(dst, '[')
		dst = appendGroups(dst, host[1:n-1], ':')
		return append(dst, ']')
	}
	return appendGroup(dst, host)
}

// appendGroups appends the groups of an IPv6 literal. RFC 2396 knew no "::" to bring
// to one form, so none is made.
func appendGroups(dst, s []byte, sep byte) []byte {
	for {
		group, rest, more := bytes.Cut(s, []byte{sep})
		dst = appendGroup(dst, trimZeros(group))
		if !more {
			return dst
		}
		dst, s = append(dst, sep), rest
	}
}

// appendGroup appends a host name in lower case, or an IPv4 address, which is exactly
// four groups of decimal digits of any size, without the zeros that lead its groups.
func appendGroup(dst, s []byte) []byte {
	if isHashedIPv4(s) {
		for i, group := range strings.Split(string(s), ".") {
			if i > 0 {
				dst = append(dst, '.')
			}
			dst = append(dst, trimZeros([]byte(group))...)
		}
		return dst
	}
	start := len(dst)
	dst = append(dst, s...)
	lowerASCII(dst[start:])
	return dst
}

func isHashedIPv4(s []byte) bool {
	if bytes.Count(s, []byte(".")) != 3 {
		return false
	}
	for group := range bytes.SplitSeq(s, []byte(".")) {
		if len(group) == 0 || !allDigits(group) {
			return false
		}
	}
	return true
}

// trimZeros drops the zeros that lead s and keeps one byte of it.
func trimZeros(s []byte) []byte {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

func allDigits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

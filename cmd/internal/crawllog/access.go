package crawllog

import (
	"net/netip"
	"strconv"
	"strings"
)

// An accessParser reads access logs of Apache and nginx: common, combined, and
// either with the virtual host before or after the client. Its value is put before
// targets when the line names no host.
//
//	[vhost[:port] ]client [vhost ]ident user [dd/Mon/yyyy:hh:mm:ss zone] "request" status bytes ["referer" "agent"]
type accessParser string

// accessTime is the layout of %t, without its brackets.
const accessTime = "02/Jan/2006:15:04:05 -0700"

func (p accessParser) parse(text string, emit func(Record)) error {
	head, rest, ok := strings.Cut(text, " [") // a user may hold blanks, but no bracket
	stamp, rest, ok2 := strings.Cut(rest, `] "`)
	if !ok || !ok2 {
		return bad("got no [time] and request; want an access log line")
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return bad("got a request without its end")
	}
	at := layoutTime(accessTime, stamp)
	fields := strings.Fields(rest)
	if at.IsZero() {
		return bad("got time %q; want one such as 10/Oct/2026:13:55:36 +0000", stamp)
	}
	if len(fields) < 2 {
		return bad("got %d fields after the request; want status and bytes", len(fields))
	}
	status, err := strconv.Atoi(fields[0])
	if err != nil {
		return bad("got status %q; want a number", fields[0])
	}
	r := Record{Time: at, Status: status, Length: number(fields[1]), Via: referer(rest)}
	r.URL, r.Kind = p.url(p.host(head), request)
	emit(r)
	return nil
}

// host is the base of the targets: the virtual host, if the line names one. A user may
// hold blanks, so the other one of the first two fields must be a client: an address, or
// behind the virtual host a name.
func (p accessParser) host(head string) string {
	fields := strings.SplitN(head, " ", 3)
	if len(fields) < 3 || fields[1] == "-" || !strings.ContainsAny(fields[1], ".:") {
		return string(p)
	}
	host := fields[0]
	if isAddress(host) && !isAddress(fields[1]) {
		host = fields[1]
	}
	switch {
	case strings.HasSuffix(host, ":443"):
		return "https://" + strings.TrimSuffix(host, ":443")
	default:
		return "http://" + strings.TrimSuffix(host, ":80")
	}
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// url makes the URL of a request "METHOD target[ HTTP/x.y]". The target may hold
// blanks. Requests that are none, "*" and host:port, are of no URL.
func (accessParser) url(base, request string) (string, Kind) {
	method, target, ok := strings.Cut(request, " ")
	if !ok || method == "" || method == "-" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
		return "", Other
	}
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target = target[:i]
	}
	target = strings.TrimRight(target, " ")
	switch {
	case target == "":
		return "", Other
	case target[0] == '/':
		return base + target, Fetch
	case isURL(strings.ReplaceAll(target, " ", "+")):
		return target, Fetch
	}
	return target, Other
}

// cutQuoted reads to the closing quote and undoes the log's escapes: \" and \\ and
// \xhh of Apache, \xHH of nginx.
func cutQuoted(s string) (text, rest string, ok bool) {
	end := 0
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", "", false
	}
	return unescape(s[:end]), s[end+1:], true
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if s[i] == 'x' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, controls(s[i]))
	}
	return string(out)
}

// controls is what a letter behind a backslash stands for; itself if nothing.
func controls(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// referer is the first quoted field behind status and bytes.
func referer(rest string) string {
	_, quoted, ok := strings.Cut(rest, `"`)
	if !ok {
		return ""
	}
	text, _, _ := cutQuoted(quoted)
	return given(text)
}

package logs

import (
	"net/netip"
	"strconv"
	"strings"
)

// An accessParser reads access logs of Apache and nginx: common, combined, and
// either with the virtual host before or behind the client.
//
//	[vhost[:port] ]client [vhost ]ident user [dd/Mon/yyyy:hh:mm:ss zone] "request" status bytes ["referer" "agent"]
//
// What stands where the client does is often the list of X-Forwarded-For, quoted or not, and where the server looks up names, the
// client is a name like the virtual host. One line can't tell the two apart, but the others can: see learn.
type accessParser struct {
	base string // of targets where the line names no host
	host int    // which of the first two fields is the virtual host where both are names; -1: not known
}

// accessTime is the layout of %t, without its brackets.
const accessTime = "02/Jan/2006:15:04:05 -0700"

func newAccessParser(base string, lines []string) *accessParser {
	p := &accessParser{base: base, host: -1}
	p.learn(lines)
	return p
}

// learn finds the place of the virtual host: where lines leave no doubt, or where it is that repeats.
func (p *accessParser) learn(lines []string) {
	var sure [2]int
	values := [2]map[string]bool{{}, {}}
	for _, line := range lines {
		head, _, _ := strings.Cut(line, " [")
		f := leading(head)
		switch at := placeOfHost(f); {
		case at >= 0:
			sure[at]++
		case at == twoNames:
			values[0][f[0]], values[1][f[1]] = true, true
		}
	}
	switch a, b := len(values[0]), len(values[1]); {
	case sure[0] > sure[1] || sure[0] == sure[1] && a < b:
		p.host = 0
	case sure[1] > sure[0] || b < a:
		p.host = 1
	}
}

func (p *accessParser) line(text string, emit func(Record)) error {
	if strings.TrimSpace(text) == "" {
		return isBlankLine
	}
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
	if strings.Trim(fields[0], "0123456789") != "" && fields[0] != "-" {
		return bad("got status %q; want a number", fields[0])
	}
	r := Record{Time: at, Length: number(fields[1]), Via: referer(rest)}
	base, err := p.site(head)
	r.URL, r.Kind = requestURL(base, request)
	if err != nil && r.Kind == Fetch && !strings.Contains(r.URL, "://") {
		return err
	}
	r.answered(fields[0])
	emit(r)
	return nil
}

func (*accessParser) end(func(Record)) error { return nil }

// leading returns the fields before the time. Quotes are taken off; a list with commas, as of X-Forwarded-For, is one field.
func leading(head string) (f []string) {
	list := false
	for _, cell := range columns(head) {
		if list {
			f[len(f)-1] += " " + cell
		} else {
			f = append(f, cell)
		}
		list = strings.HasSuffix(cell, ",")
	}
	return f
}

// twoNames means that either of the first two fields can be the virtual host; noHost that none is.
const (
	noHost   = -1
	twoNames = -2
)

// placeOfHost returns which of the fields is the virtual host. It is a name beside a client, which is an address or a list of
// them; or an address beside an address, where one field follows, not the two of "ident user": then they are of X-Forwarded-For.
func placeOfHost(f []string) int {
	if len(f) < 3 || f[1] == "-" {
		return noHost
	}
	var client, name [2]bool
	for i := range client {
		client[i] = isAddress(f[i]) || strings.ContainsAny(f[i], ", ") || i == 0 && f[i] == "-" && len(f) > 3
		host, _, _ := strings.Cut(f[i], ":")
		name[i] = !client[i] && (isHost(f[i]) || i == 0 && host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && host != "-")
	}
	switch {
	case name[0] && client[1]:
		return 0
	case client[0] && name[1]:
		return 1
	case name[0] && name[1] && strings.Contains(f[1], "."):
		return twoNames
	case isAddress(f[0]) && isAddress(f[1]) && len(f) == 3:
		return 1
	}
	return noHost
}

// site is the base of the targets: the virtual host, if the line names one.
func (p *accessParser) site(head string) (string, error) {
	f := leading(head)
	at := placeOfHost(f)
	if at == twoNames {
		if at = p.host; at < 0 {
			return "", bad("got two names before the time; either can be the virtual host")
		}
	}
	if at < 0 {
		return p.base, nil
	}
	return site("", f[at], ""), nil
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// requestURL makes the URL of a request "METHOD target[ HTTP/x.y]". The target may hold
// blanks. Requests that are none, "*" and host:port, are of no URL.
func requestURL(base, request string) (string, Kind) {
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

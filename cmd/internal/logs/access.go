package logs

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An accessParser reads access logs of servers and proxies that have the time in brackets and then the request in quotes:
// the common and combined formats of Apache and nginx, with or without a virtual host, and the logs of lighttpd, Python, HAProxy and Envoy.
//
//	[vhost[:port] ]client [vhost ]ident user [time] [vhost ]"request" status bytes ["referer" "agent" … "vhost" …]
//
// Squid's own format and uWSGI's are like no other, see [ownFormats].
//
// What stands where the client does is often the list of X-Forwarded-For, quoted or not, and where the server looks up names, the
// client is a name like the virtual host. One line can't tell the two apart, but the others can: see learn.
type accessParser struct {
	atOnce

	opt    *Options
	base   string // of targets where the line names no host
	host   int    // which of the first two cells is the virtual host where both are names; -1: not known
	behind int    // which of the cells behind the request is the virtual host; -1: none
	rival  int    // another one that can be; -1: none
	syslog bool   // some lines have what syslog and others put before them, though most have not
	own    *regexp.Regexp
	cells  accessLine // of the line that is read
}

// ownFormats have the method, the target and the status as the groups m, t and s:
//
//	time duration client RESULT/status bytes METHOD url user HIERARCHY/peer type [-]
//	[pid: …] client () {… vars …} [time] METHOD target => generated … (HTTP/1.1 status) …
var ownFormats = []*regexp.Regexp{
	regexp.MustCompile(`^\d+\.\d{3} +\d+ \S+ [A-Z_]+/(?P<s>\d{3}) \d+ (?P<m>\S+) (?P<t>.+) \S+ [A-Z_]+/\S+ \S+(?: -)?$`),
	regexp.MustCompile(`^\[pid: \d+\|.*?\} \[[^\]]+\] (?P<m>[A-Z]+) (?P<t>.+) => generated \d+ bytes in .* \(HTTP/[\d.]+ (?P<s>\d+)\)`),
}

// protocol matches the end of a request. It is behind what looks like a request if the target has a quote that was not escaped.
var protocol = regexp.MustCompile(` HTTP/[\d.]+"`)

// haproxyTimers matches the timers of HAProxy, which may log TLS behind the request.
var haproxyTimers = regexp.MustCompile(`^-?\d+(?:/-?\d+){3}/\+?-?\d+$`)

// accessTime is the layout of %t.
const accessTime = "02/Jan/2006:15:04:05 -0700"

// accessLine is a line, taken apart. The next one uses its memory.
type accessLine struct {
	leading, between, behind []string
	request                  string
	at                       time.Time
	stamp                    string // of at
}

func newAccessParser(opt *Options, lines []string) *accessParser {
	p := &accessParser{opt: opt, base: opt.Base, host: -1, behind: -1, rival: -1}
	p.learn(lines)
	return p
}

// cut takes a line apart.
func (l *accessLine) cut(text string) error {
	head, rest := "", ""
	for i, found := 0, false; !found; { // a host in brackets may stand before the time
		at := strings.IndexByte(text[i:], '[')
		if at < 0 {
			return bad("got no [time] and request; want an access log line")
		}
		i += at + 1
		stamp, behind, closed := strings.Cut(text[i:], "]")
		if found = closed && l.time(stamp); found {
			head, rest = text[:i-1], behind
		}
	}
	between, quoted, ok := strings.Cut(rest, ` "`)
	if !ok {
		return bad("got no request behind the time")
	}
	end := quoteEnd(quoted)
	rest = quoted[end+1:]
	if end < 0 || rest != "" && rest[0] != ' ' || !strings.Contains(quoted[:end], " HTTP/") && protocol.MatchString(rest) {
		return bad("got a request without its end, or a quote in it")
	}
	l.request = unescape(quoted[:end])
	l.leading = columns(l.leading[:0], head)
	for i := 0; i+1 < len(l.leading); { // a list with commas, as of X-Forwarded-For, is one cell
		if !strings.HasSuffix(l.leading[i], ",") {
			i++
			continue
		}
		l.leading[i] += " " + l.leading[i+1]
		l.leading = slices.Delete(l.leading, i+1, i+2)
	}
	l.between, l.behind = columns(l.between[:0], between), columns(l.behind[:0], rest)
	if n := len(l.between); n > 1 && len(l.behind) > 0 && (n < 5 || !haproxyTimers.MatchString(l.between[2])) {
		return bad("got %q between time and request", between)
	}
	return nil
}

// time reads a time, and reports whether it is one. Many lines of a log are of the same second.
func (l *accessLine) time(stamp string) bool {
	if stamp == l.stamp {
		return true
	}
	if len(stamp) < len("02/Jan/2006:15:04:05") { // a date, or a number
		return false
	}
	at := layoutTime(accessTime, stamp) // as nearly all are
	if at.IsZero() {
		at = ParseTime(stamp)
	}
	if !at.IsZero() {
		l.at, l.stamp = at, strings.Clone(stamp)
	}
	return !at.IsZero()
}

// learn finds the place of the virtual host: where lines leave no doubt, or where it is that repeats.
func (p *accessParser) learn(lines []string) {
	var sure [2]int
	values := [2]map[string]bool{{}, {}}
	n, hosts := 0, map[int][]string{} // by their cells
	for _, own := range ownFormats {
		if 2*countIf(lines, own.MatchString) > len(lines) {
			p.own = own
		}
	}
	for _, line := range lines {
		before := carried.FindString(line)
		p.syslog = p.syslog || before != ""
		l := &p.cells
		if l.cut(line[len(before):]) != nil {
			continue
		}
		n++
		for i, cell := range l.behind {
			if i > 1 && hostlike(cell) && !isAddress(cell) {
				hosts[i] = append(hosts[i], cell)
			}
		}
		switch at := placeOfHost(l.leading); {
		case at >= 0:
			sure[at]++
		case at == twoNames:
			values[0][l.leading[0]], values[1][l.leading[1]] = true, true
		}
	}
	for _, i := range slices.Sorted(maps.Keys(hosts)) {
		switch found := hosts[i]; {
		case 2*len(found) <= n:
		case p.behind < 0:
			p.behind = i
		case !slices.Equal(found, hosts[p.behind]):
			p.rival = i
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
	if p.syslog {
		text = text[len(carried.FindString(text)):]
	}
	if p.own != nil {
		return p.ownLine(text, emit)
	}
	l := &p.cells
	if err := l.cut(text); err != nil {
		return err
	}
	status, behind := "", l.behind
	if len(behind) == 0 || len(l.between) > 1 { // HAProxy has it before the request
		behind = l.between
	}
	for i, cell := range behind { // the first number; others may be of bytes and of time
		if strings.Trim(cell, "-0123456789") == "" && (i == 0 || cell != "-") && cell != "" {
			status, behind = cell, behind[i+1:]
			break
		}
	}
	if len(l.between) == 1 && len(l.between[0]) == 3 && slices.Contains(codes, l.between[0]) {
		status, behind, l.between = l.between[0], l.behind, l.between[:0]
	}
	if status == "" || len(status) > 3 {
		return bad("got no status beside the request")
	}
	r := Record{Time: l.at}
	if len(behind) > 0 {
		r.Length = number(behind[0])
	}
	if len(behind) > 1 {
		r.Via = given(unescape(behind[1]))
	}
	base, assumed, err := p.site(l)
	r.assumed = assumed
	r.URL, r.Kind = requestURL(base, l.request)
	if err != nil && r.Kind == Fetch && !strings.Contains(r.URL, "://") {
		return err
	}
	r.answered(status)
	emit(r)
	return nil
}

// ownLine reads a line of one of ownFormats. A tunnel, and a connection without a request, are of no URL.
func (p *accessParser) ownLine(text string, emit func(Record)) error {
	m := p.own.FindStringSubmatch(text)
	if m == nil {
		return bad("got a line of another form than those before it")
	}
	r, group := Record{}, func(name string) string { return m[p.own.SubexpIndex(name)] }
	if seconds, err := strconv.ParseFloat(text[:strings.IndexByte(text, ' ')], 64); err == nil && seconds < 1<<40 {
		r.Time = time.UnixMilli(int64(seconds * 1000)).UTC()
	}
	r.URL, r.Kind = requestURL(p.base, group("m")+" "+group("t"))
	r.answered(group("s"))
	emit(r)
	return nil
}

// twoNames means that either of the first two cells can be the virtual host; noHost that none is; unclear that they are
// something else.
const (
	noHost   = -1
	twoNames = -2
	unclear  = -3
)

// placeOfHost returns which of the cells before the time is the virtual host. It is a name beside a client, which is an address or a list of
// them; or an address beside an address, where one cell follows, not the two of "ident user": then they are of X-Forwarded-For.
func placeOfHost(f []string) int {
	if len(f) < 2 || f[1] == "-" {
		return noHost
	}
	var client, name [2]bool
	for i := range client {
		client[i] = isAddress(f[i]) || strings.ContainsAny(f[i], ", ") || i == 0 && f[i] == "-" && len(f) > 3
		name[i] = !client[i] && (hostlike(f[i]) || i == 0 && oneLabel.MatchString(f[i]))
	}
	switch {
	case name[0] && client[1]:
		return 0
	case client[0] && name[1] && len(f) > 2:
		return 1
	case name[0] && name[1] && strings.Contains(f[1], "."):
		return twoNames
	case isAddress(f[0]) && isAddress(f[1]) && len(f) == 3:
		return 1
	case client[0]:
		return noHost
	}
	return unclear
}

// oneLabel matches a host without a dot. Without a port, a word could be of anything that stands before a line.
var oneLabel = regexp.MustCompile(`^(?:localhost|[A-Za-z0-9_-]*[A-Za-z][A-Za-z0-9_-]*:\d+)$`)

// hostlike reports whether a cell is a host, with or without a port: a name, or an address of IPv6 in brackets.
func hostlike(s string) bool {
	if strings.HasPrefix(s, "[") {
		inner, port, ok := strings.Cut(s[1:], "]")
		return ok && isAddress(inner) && strings.Trim(port, ":0123456789") == ""
	}
	name, _, _ := strings.Cut(s, ":")
	return isHost(s) && !strings.ContainsAny(s, "/?#") && !isAddress(name) && !isAddress(s)
}

// isServer reports whether a cell is the host of a server. What is not is often the name of the machine that wrote the log.
func isServer(s string) bool {
	return hostlike(s) || isAddress(s)
}

// site is the base of the targets: the virtual host, if the line names one. A host without a port leaves the scheme open; http is assumed,
// since servers that speak both log the port.
func (p *accessParser) site(l *accessLine) (base string, assumed bool, err error) {
	at := placeOfHost(l.leading)
	if at == twoNames {
		at = p.host
	}
	host, between := "", ""
	if len(l.between) == 1 {
		between = l.between[0]
	}
	address, port, _ := strings.Cut(between, ":")
	switch {
	case at >= 0:
		host = l.leading[at]
	case isAddress(address) && p.base != DefaultBase: // of the server, as HAProxy writes it
	case isAddress(address) && port != "" && port != "80" && port != "443":
		return "", false, bad("got %q before the request, which can be the host or a server behind it: name the host with --base", between)
	case between != "" && len(l.behind) > 0 && (isServer(between) || strings.Trim(between, "0123456789.") != ""): // not how long it took
		host = given(between)
	case p.rival >= 0 && p.base != DefaultBase: // which was named because of that
	case p.rival >= 0 && p.rival < len(l.behind):
		return "", false, bad("got two hosts, %q and %q, behind the request: name the one of the URLs with --base", l.behind[p.behind], l.behind[p.rival])
	case p.behind >= 0 && p.behind < len(l.behind):
		host = given(l.behind[p.behind])
	case p.base != DefaultBase && len(l.leading) > 1 && isAddress(l.leading[1]): // what is before it is of what wrote the line
	case len(l.leading) > 0 && placeOfHost(l.leading) != noHost && (!strings.Contains(l.leading[0], ":") || len(l.leading) > 1 && isAddress(l.leading[1])):
		return "", false, bad("got %q before the time; any of it can be the virtual host, or none: name the host with --base", strings.Join(l.leading, " "))
	}
	if host == "" {
		return p.base, false, nil
	}
	unsaid := func(meaning) string { return "" }
	return site(cmp.Or(p.opt.Scheme, schemeOf(p.base)), host, ""), schemeless(host, unsaid, p.opt), nil
}

func isAddress(s string) bool {
	if s == "" || strings.IndexByte("0123456789abcdefABCDEF:", s[0]) < 0 { // a name: the error would cost more than the rest
		return false
	}
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

// quoteEnd returns where the quote is that closes the text s begins with, behind its own; -1 if it stays open.
func quoteEnd(s string) int {
	for end := 0; end < len(s); end++ {
		switch s[end] {
		case '"':
			return end
		case '\\':
			end++
		}
	}
	return -1
}

// escapes are the letters that stand for controls behind a backslash.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}

// unescape undoes the escapes of a log: \" and \\ and \xhh of Apache, \xHH of nginx.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			c = cmp.Or(escapes[s[i]], s[i])
			if c == 'x' && i+2 < len(s) {
				if hex, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					c, i = byte(hex), i+2
				}
			}
		}
		out = append(out, c)
	}
	return string(out)
}

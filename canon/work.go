package canon

import "strings"

// work is one URL on its way through the rules of the slow path. The methods in this
// file and in workpath.go and workquery.go are the rules, one each: short and plain
// rather than fast. The fast path (scan.go) does the same in one pass, and fuzzing
// holds the two equal.
type work struct {
	parts
	on     ruleSet
	params *paramRules
	lists  *lists
}

// run takes raw through the rules of on, in order. It calls step, if there is one,
// after each rule that changed the URL.
func (s *settings) run(raw string, on ruleSet, step func(r Rule, before, after string)) (string, error) {
	raw = runBefore(raw, on, step)
	p, err := split(raw)
	if err != nil {
		return "", err
	}
	w := &work{parts: p, on: on, params: s.params, lists: s.lists}
	for id := range ruleCount {
		if rules[id].do == nil || !on.has(id) {
			continue
		}
		before := w.parts
		if err := rules[id].do(w); err != nil {
			return "", err
		}
		if step != nil && w.parts != before {
			step(rules[id].Rule, before.join(), w.join())
		}
	}
	return w.join(), nil
}

func runBefore(raw string, on ruleSet, step func(r Rule, before, after string)) string {
	for id := range ruleCount {
		if rules[id].before == nil || !on.has(id) {
			continue
		}
		after := rules[id].before(raw)
		if step != nil && after != raw {
			step(rules[id].Rule, raw, after)
		}
		raw = after
	}
	return raw
}

// repairAmp makes "&" of its character references behind the host: of "&amp;", "&#38;" and
// "&#x26;", however often it was escaped ("&amp;amp;"). At the start of a query, where an "&" is
// missing because someone sorted the parameters, "amp;" goes as well. The letters and digits of a
// reference may have escapes, and any case, so that no other rule makes a reference of them.
func repairAmp(s string) string {
	start := strings.IndexByte(s, ':') + 1
	for start < len(s) && (s[start] == '/' || s[start] == '\\') {
		start++
	}
	path := strings.IndexAny(s[start:], `/\?#`)
	if path < 0 {
		return s
	}
	var b []byte
	from, part := 0, byte('/') // where the text to copy begins, and what begins the part that i is in
	for i := start + path; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '?' && part == '/', c == '#':
			part = c
		case c != '&':
			continue
		}
		end := i + 1
		for n := 1; n > 0 && (c == '&' || c == '?'); end += n {
			n = referenceAt(s[end:], c == '&')
		}
		if end > i+1 {
			b = append(b, s[from:i+1]...)
			from, i = end, end-1
		}
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}

// referenceAt returns the length of what follows "&" in a character reference to it, 0 if there is
// none: "amp;", "#38;", "#x26;".
func referenceAt(s string, numbers bool) int {
	text, width := make([]byte, 0, 8), 0
	for width < len(s) && len(text) < 8 {
		c, n := s[width], 1
		if isEscape(s, width) {
			c, n = unhex[s[width+1]]<<4|unhex[s[width+2]], 3
			if !isUnreserved[c] {
				return 0
			}
		}
		if width += n; c == '0' && strings.Trim(string(text), "#x") == "" && len(text) > 0 {
			continue // zeros before the number
		}
		if text = append(text, lower(c)); c == ';' {
			switch string(text) {
			case "amp;":
				return width
			case "#38;", "#x26;":
				if numbers {
					return width
				}
			}
			return 0
		}
	}
	return 0
}

func (w *work) lowercaseScheme() error {
	w.scheme = strings.ToLower(w.scheme)
	return nil
}

func (w *work) fixSlashes() error {
	w.slashes = "://"
	w.path = strings.ReplaceAll(w.path, `\`, "/")
	return nil
}

func (w *work) dropFragment() error {
	if !w.on.has(rKeepHashbang) || !strings.HasPrefix(w.fragment, "#!") {
		w.fragment = ""
	}
	return nil
}

// escapeUserinfo cuts at the first colon; further ones belong to the password, escaped.
func (w *work) escapeUserinfo() error {
	info, ok := strings.CutSuffix(w.userinfo, "@")
	if !ok {
		return nil
	}
	user, pass, _ := strings.Cut(info, ":")
	user, pass = normalizeEscapes(user, userinfoRaw), normalizeEscapes(pass, userinfoRaw)
	switch {
	case pass != "":
		w.userinfo = user + ":" + pass + "@"
	case user != "":
		w.userinfo = user + "@"
	default:
		w.userinfo = ""
	}
	return nil
}

func (w *work) stripUserinfo() error {
	w.userinfo = ""
	return nil
}

// normalizeEscapes is the four percent rules in one.
func normalizeEscapes(s string, raw *byteSet) string {
	return escapeIllegal(decodeUnreserved(uppercaseEscapes(escapeStrayPercent(s))), raw)
}

func (w *work) lowercaseHost() error {
	w.host = lowerText(w.host)
	return nil
}

func (w *work) decodeHost() error {
	if !w.literal {
		w.host = unescape(w.host)
	}
	return nil
}

func (w *work) hostToASCII() (err error) {
	if !w.literal {
		w.host, err = hostToASCII(w.host)
	}
	return err
}

func (w *work) canonicalIP() (err error) {
	if w.literal {
		w.host, err = canonicalIPv6(w.host)
	} else if err = checkHost(w.host); err == nil && endsInNumber(w.host) {
		w.host, err = canonicalIPv4(w.host)
	}
	return err
}

func (w *work) escapeStrayPercent() error { return w.eachText(escapeStrayPercent) }
func (w *work) uppercaseEscapes() error   { return w.eachText(uppercaseEscapes) }
func (w *work) decodeUnreserved() error   { return w.eachText(decodeUnreserved) }

// eachText runs f over what may hold escapes, but the userinfo, which has its own rule.
func (w *work) eachText(f func(string) string) error {
	w.path, w.query, w.fragment = f(w.path), f(w.query), f(w.fragment)
	return nil
}

func (w *work) escapeIllegal() error {
	w.path = escapeIllegal(w.path, pathRaw)
	w.query = escapeIllegal(w.query, queryRaw)
	if w.fragment != "" {
		w.fragment = "#" + escapeIllegal(w.fragment[1:], fragmentRaw)
	}
	return nil
}

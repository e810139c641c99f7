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
}

// run takes raw through the rules of on, in order. It calls step, if there is one,
// after each rule that changed the URL.
func run(raw string, on ruleSet, params *paramRules, step func(r Rule, before, after string)) (string, error) {
	raw = runBefore(raw, on, step)
	p, err := split(raw)
	if err != nil {
		return "", err
	}
	w := &work{parts: p, on: on, params: params}
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

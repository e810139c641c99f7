package canon

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// The slow path: the rules of the table, one after another, on a URL that is cut into parts. It takes any
// input, Explain and Compare are runs of it, and the fast path is fuzzed against it. So the rules are short and
// plain rather than fast. Those that work on parts are methods of work, in the order in which they run.

// work is one URL on its way through the rules.
type work struct {
	whatwg.Parts
	err    error // of the rule that refused the URL; no other rule runs after it
	on     ruleSet
	params *paramRules
	lists  *lists
}

// run takes raw through the rules of on, in order. It calls step, if there is one,
// after each rule that changed the URL.
func (s *settings) run(raw string, on ruleSet, step func(r Rule, before, after string)) (string, error) {
	w, err := s.cut(raw, on, step)
	if err != nil {
		return "", err
	}
	for id := range ruleCount {
		before := w.Parts
		if w.apply(id); w.err != nil {
			return "", w.err
		}
		if step != nil && w.Parts != before {
			step(rules[id].Rule, before.Join(), w.Join())
		}
	}
	return w.Join(), nil
}

// apply applies a rule to the parts, if it is on and no rule has refused them.
func (w *work) apply(id ruleID) {
	if do := rules[id].do; do != nil && w.on.has(id) && w.err == nil {
		do(w)
	}
}

// cut applies the rules for the whole text, and cuts a URL of http, https or ftp. It refuses any other.
func (s *settings) cut(raw string, on ruleSet, step func(r Rule, before, after string)) (*work, error) {
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
	n := whatwg.SchemeLen(raw)
	if n < 0 {
		return nil, whatwg.NoScheme(raw)
	}
	switch strings.ToLower(raw[:n]) {
	case "http", "https", "ftp":
		return &work{Parts: whatwg.CutSpecial(raw, n), on: on, params: s.params, lists: s.lists}, nil
	}
	if _, err := whatwg.Parse(raw); err != nil {
		return nil, err // no URL of another scheme either
	}
	return nil, fault.As(ErrScheme, "cannot canonicalize; got scheme %s; want http, https or ftp", whatwg.Quote(raw[:n]))
}

func (w *work) lowercaseScheme() { w.Scheme = strings.ToLower(w.Scheme) }

func (w *work) fixSlashes() {
	w.Slashes = "://"
	w.Path = strings.ReplaceAll(w.Path, `\`, "/")
}

func (w *work) dropFragment() {
	if !w.on.has(rKeepHashbang) || !strings.HasPrefix(w.Fragment, "#!") {
		w.Fragment = ""
	}
}

func (w *work) dropQuery() { w.Query = "" }

func (w *work) escapeUserinfo() {
	w.EachOfUserinfo(func(s string) string { return normalizeEscapes(s, userinfoRaw) })
}

func (w *work) stripUserinfo() { w.Userinfo = "" }

func (w *work) decodeHost() {
	if !w.Literal {
		w.Host = whatwg.Unescape(w.Host)
	}
}

func (w *work) lowercaseHost() { w.Host = whatwg.LowerText(w.Host) }

func (w *work) hostToASCII() {
	if !w.Literal {
		w.Host, w.err = whatwg.ToASCII(w.Host)
	}
}

func (w *work) canonicalIP() { w.Host, w.err = whatwg.CanonicalAddress(w.Host, w.Literal) }

func (w *work) defaultPort() { w.Port, w.err = whatwg.CanonicalPort(w.Scheme, w.Port) }

// stripTrailingDot leaves "a.." alone: what precedes a second dot can look like an address.
func (w *work) stripTrailingDot() {
	if host, ok := strings.CutSuffix(w.Host, "."); ok && host != "" && !strings.HasSuffix(host, ".") {
		w.Host = host
	}
}

func (w *work) stripWWW() { w.Host = string(stripWWW([]byte(w.Host))) }

func (w *work) foldHTTPS() {
	if w.Scheme == "http" && w.Port == "" {
		w.Scheme = "https"
	}
}

// The four rules for escapes, for all parts that may have some but the userinfo, which has a rule of its own.
func (w *work) escapeStrayPercent() { w.eachText(escapeStrayPercent) }
func (w *work) uppercaseEscapes()   { w.eachText(uppercaseEscapes) }
func (w *work) decodeUnreserved()   { w.eachText(whatwg.DecodeUnreserved) }

func (w *work) eachText(f func(string) string) {
	w.Path, w.Query, w.Fragment = f(w.Path), f(w.Query), f(w.Fragment)
}

func (w *work) escapeIllegal() {
	w.Path = whatwg.Escape(w.Path, pathRaw)
	w.Query = whatwg.Escape(w.Query, queryRaw)
	if w.Fragment != "" {
		w.Fragment = "#" + whatwg.Escape(w.Fragment[1:], fragmentRaw)
	}
}

// normalizeEscapes is the four rules for escapes in one.
func normalizeEscapes(s string, raw *whatwg.Set) string {
	return whatwg.Escape(whatwg.DecodeUnreserved(uppercaseEscapes(escapeStrayPercent(s))), raw)
}

// escapeStrayPercent runs before any decoding: else "%%36%31" would become "%61", and "a" on the next run.
func escapeStrayPercent(s string) string {
	return whatwg.MapEscapes(s, "%25", func(escape string, _ byte) string { return escape })
}

func uppercaseEscapes(s string) string {
	return whatwg.MapEscapes(s, "%", func(escape string, _ byte) string { return strings.ToUpper(escape) })
}

func (w *work) lowercasePath() { // the digits of escapes stay upper-case
	w.Path = whatwg.MapEscapes(whatwg.LowerText(w.Path), "%", func(escape string, _ byte) string { return strings.ToUpper(escape) })
}

func (w *work) stripSessionIDs() {
	if w.Path != "" {
		w.Path = w.lists.stripPathSessions(w.Path)
	}
	w.editQuery(func(pairs []string) []string {
		kept := pairs[:0]
		for _, pair := range pairs {
			if left, some := w.lists.stripSessions(pair); some {
				kept = append(kept, left)
			}
		}
		return kept
	})
}

func (w *work) dotSegments() { w.Path = whatwg.WithoutDots(w.Path) }

func (w *work) collapseSlashes() {
	for strings.Contains(w.Path, "//") {
		w.Path = strings.ReplaceAll(w.Path, "//", "/")
	}
}

func (w *work) stripTrailingSlash() {
	if path := strings.TrimRight(w.Path, "/"); path != "" {
		w.Path = path
	} else if w.Path != "" {
		w.Path = "/"
	}
}

// stripIndex repeats when trailing slashes go too: "/index.html/index.html" is then "/".
func (w *work) stripIndex() {
	for {
		cut := strings.LastIndexByte(w.Path, '/') + 1
		if cut == 0 || !w.lists.isIndex(w.Path[cut:]) {
			return
		}
		w.Path = w.Path[:cut]
		if !w.on.has(rStripTrailingSlash) {
			return
		}
		w.stripTrailingSlash()
	}
}

func (w *work) emptyPath() { w.Path = cmp.Or(w.Path, "/") }

// editQuery lets f change the list of pairs. A query without any is left alone.
func (w *work) editQuery(f func(pairs []string) []string) {
	if len(w.Query) > len("?") {
		w.Query = "?" + strings.Join(f(strings.Split(w.Query[1:], "&")), "&")
	}
}

// dropPairs drops the pairs for which f is true.
func (w *work) dropPairs(f func(name, value string, bare bool) bool) {
	w.editQuery(func(pairs []string) []string {
		return slices.DeleteFunc(pairs, func(pair string) bool {
			name, value, full := strings.Cut(pair, "=")
			return f(name, value, !full)
		})
	})
}

func (w *work) dropEmptyPairs() {
	w.dropPairs(func(name, _ string, bare bool) bool { return bare && name == "" })
}

func (w *work) completeParams() {
	w.editQuery(func(pairs []string) []string {
		for i, pair := range pairs {
			if !strings.Contains(pair, "=") {
				pairs[i] = pair + "="
			}
		}
		return pairs
	})
}

func (w *work) stripTracking() {
	w.dropPairs(func(name, value string, _ bool) bool { return w.lists.tracking.matches([]byte(name), []byte(value)) })
}

func (w *work) scopedParams() {
	if drops := w.params.scopesFor([]byte(w.Host), []byte(w.Path)); len(drops) > 0 {
		w.dropPairs(func(name, _ string, _ bool) bool { return dropsParam(drops, []byte(name)) })
	}
}

func (w *work) dropEmptyParams() {
	w.dropPairs(func(_, value string, bare bool) bool { return !bare && value == "" })
}

// sortQuery sorts by name, decoded as a form and escaped again as RFC 5849 3.6 does. Parameters of
// one name keep their order.
func (w *work) sortQuery() {
	w.sortPairs(func(a, b pairKey) int { return cmp.Compare(a.name, b.name) })
}

// sortValues sorts the parameters of one name, which sort-query has put together: by value, decoded
// and escaped in the same way, then by text. Without sort-query, all parameters keep their places.
func (w *work) sortValues() {
	if w.on.has(rSortQuery) {
		w.sortPairs(func(a, b pairKey) int {
			return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.value, b.value), cmp.Compare(a.text, b.text))
		})
	}
}

type pairKey struct{ name, value, text string }

func (w *work) sortPairs(compare func(a, b pairKey) int) {
	w.editQuery(func(pairs []string) []string {
		keys := make([]pairKey, len(pairs))
		for i, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			keys[i] = pairKey{oauthEscape(name), oauthEscape(value), pair}
		}
		slices.SortStableFunc(keys, compare)
		for i := range keys {
			pairs[i] = keys[i].text
		}
		return pairs
	})
}

func oauthEscape(s string) string {
	return whatwg.Escape(whatwg.Unescape(strings.ReplaceAll(s, "+", " ")), whatwg.IsUnreserved)
}

func (w *work) dropEmptyQuery() {
	if w.Query == "?" {
		w.Query = ""
	}
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
		reference := anyReference
		if c == '?' {
			reference = namedReference
		}
		end := i + 1
		for n := 1; n > 0 && (c == '&' || c == '?'); end += n {
			n = len(reference.FindString(s[end:]))
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

// What follows "&" in a character reference to it: "amp;", "#38;", "#x26;". Each begins with one "^": of alternatives with
// one each, package regexp does not see that they can match nowhere else, and looks through all of the text.
var (
	namedReference = regexp.MustCompile(`^([aA]|%[46]1)([mM]|%[46][dD])([pP]|%[57]0);`)
	anyReference   = regexp.MustCompile(`^(?:([aA]|%[46]1)([mM]|%[46][dD])([pP]|%[57]0);|#(0|%30)*(3|%33)(8|%38);|#(0|%30)*([xX]|%[57]8)(0|%30)*(2|%32)(6|%36);)`)
)

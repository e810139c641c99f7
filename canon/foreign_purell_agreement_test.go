package canon

import (
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/purell"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// nearestFlags are the flags of purell that come nearest to qiita.
const nearestFlags = purell.FlagsSafe | purell.FlagRemoveDotSegments | purell.FlagRemoveDuplicateSlashes |
	purell.FlagSortQuery | purell.FlagRemoveEmptyPortSeparator | purell.FlagRemoveFragment

// inAgreement reports whether an input is in the subset where purell is an oracle:
// plain host, port and path, query names unreserved, values unreserved or escaped.
func inAgreement(raw string) bool { return agreement.MatchString(raw) && !excluded(raw) }

var agreement = regexp.MustCompile(`(?i)^https?://[a-z0-9_.-]+(:([1-9][0-9]{0,3})?)?` +
	`(/([-\w.~!$&'()*+,;=:@/]|%[0-9a-f][0-9a-f])*)?` +
	`(\?([-\w.~&=]|%[0-9a-f][0-9a-f])*)?(#[^%\s\x00-\x1f\x7f]*)?$`)

func excluded(raw string) bool {
	in := cutRaw(raw)
	host := strings.ToLower(in.host)
	return strings.Contains(host, "xn--") || whatwg.EndsInNumber(host) || strings.Trim(host, ".") != host || strings.Contains(host, "..") ||
		escapesAny(in.path, reservedInPath) || onlyOf(in.query, "&") && in.query != "" || strings.Contains(in.query, "%20") ||
		!plainNames(in.query) || !plainValues(in.query) || repeatsWithEscapes(in.query)
}

// purellForm is purell's form with the empty path fixed.
func purellForm(raw string) (string, bool) {
	s, err := purell.NormalizeURLString(raw, nearestFlags)
	if err != nil {
		return "", false
	}
	if i := strings.Index(s, "://"); i >= 0 {
		authority, rest := whatwg.CutBefore(s[i+3:], "/?#")
		if !strings.HasPrefix(rest, "/") {
			s = s[:i+3] + authority + "/" + rest
		}
	}
	return s, true
}

// differingParts names the parts in which qiita's form and purell's differ.
func differingParts(raw string) (names []string) {
	q, err := Qiita().Canonicalize(raw)
	p, ok := purellForm(raw)
	if (err == nil) != ok {
		return []string{"accept"}
	}
	if !ok || p == q {
		return nil
	}
	a, b := cutRaw(q), cutRaw(p)
	for _, c := range []struct{ name, a, b string }{
		{"scheme", a.scheme + a.slashes, b.scheme + b.slashes}, {"userinfo", a.userinfo, b.userinfo}, {"host", a.host, b.host},
		{"port", a.port, b.port}, {"path", a.path, b.path}, {"query", a.query + "#" + a.fragment, b.query + "#" + b.fragment},
	} {
		if c.a != c.b {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		names = []string{"separators"} // equal parts, yet not equal
	}
	return names
}

// checkAgainstPurell fails on a difference without a reason, and counts the reasons.
func checkAgainstPurell(t *testing.T, raw string, count map[string]int) {
	parts := differingParts(raw)
	if len(parts) == 0 {
		count["equal"]++
		return
	}
	p, _ := purellForm(raw)
	q, err := Qiita().Canonicalize(raw)
	if inAgreement(raw) {
		t.Errorf("%q: qiita %q, %v; purell %q; want them equal: it is in the agreement subset", raw, q, err, p)
	}
	in := cutRaw(raw)
	for _, part := range parts {
		names := reasons(in, part)
		if len(names) == 0 {
			t.Errorf("%q: qiita %q, %v; purell %q; they differ in %s for no named reason", raw, q, err, p, part)
		}
		for _, name := range names {
			count[name]++
		}
	}
}

func TestQiitaAgainstPurell(t *testing.T) {
	total, agreed, count := 0, 0, map[string]int{}
	eachInput(t, func(raw string) {
		total++
		if inAgreement(raw) {
			agreed++
		}
		checkAgainstPurell(t, raw, count)
	})
	t.Logf("%d inputs, %d in the agreement subset, %d equal", total, agreed, count["equal"])
	for _, d := range divergences {
		t.Logf("%7d %s", count[d.name], d.name)
	}
	if agreed < total/3 {
		t.Errorf("got %d of %d inputs in the agreement subset; want a third: a subset that is empty proves nothing", agreed, total)
	}
}

func FuzzQiitaAgainstPurell(f *testing.F) {
	for _, d := range divergences {
		f.Add(d.like)
	}
	f.Add("HTTPS://Host.Example:443/a//b/../%7e?b=%41&a#f")
	eachMutant(func(raw []byte, _ uint32) { f.Add(string(raw)) })
	f.Fuzz(func(t *testing.T, raw string) { checkAgainstPurell(t, raw, map[string]int{}) })
}

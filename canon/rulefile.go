package canon

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// WithRuleFile reads a rule file and adds its rules to the profile. They replace the rules of
// an earlier rule file. A rule file is one JSON object:
//
//	{
//	  "comment": "free text, here and in each entry",
//	  "rules":   ["+strip-www", "-collapse-slashes"],
//	  "sites":   [
//	    {"host": "example.org", "rules": ["+fold-https", "-strip-www"]},
//	    {"host": "*.example.com", "path": "/docs", "rules": ["+strip-index"]}
//	  ],
//	  "params":  [
//	    {"host": "wiki.example.org", "path": "/w/", "drop": ["oldid", "utm_*"]},
//	    {"host": "*.example.com", "keep": ["id", "page"]},
//	    {"host": "shop.example.org", "pattern": "/search*.php$", "drop": ["sort"]},
//	    {"host": "*", "drop": ["ref"]}
//	  ],
//	  "trust_declared": ["shop.example.com", "*.example.net"]
//	}
//
// An entry holds at one host, at all hosts below a domain ("*.example.com"), or everywhere
// ("*"), without regard to scheme and port; and at a path and all below it, whole segments
// only.
//
// An entry of sites switches rules on or off there. If several entries name a rule, the most
// specific one decides: host before "*.domain" before "*", then the longer path, then the
// later entry. An entry is looked up by the site of a URL, which is its host and path after
// the rules strip-www, strip-trailing-dot, collapse-slashes, strip-index and
// strip-trailing-slash. So an entry for example.org also holds for www.example.org, and an
// entry for "/docs" also for "/docs/" and "/docs/index.html". Write it in the short form. An
// entry can switch all optional rules except strip-session-ids, lowercase-path, repair-amp, scoped-rules
// and scoped-params.
//
// An entry of params drops the parameters it names, or all except those to keep. A name may end
// in "*". If several entries that hold say something of a parameter, the nearest decides: host before
// "*.domain" before "*", then the longer path or pattern, then the one that keeps it. An entry with drop and keep
// says nothing of other parameters; one with an empty drop says that all stay. If the path ends in
// "/", the entry holds only below the path. Host and path are compared with those of the
// canonical form. An entry that no canonical form can have is refused, such as one for a www host if
// strip-www is on.
//
// Instead of a path, an entry of params may have a pattern, as in robots.txt (RFC 9309 2.2.2 and 2.2.3): the
// start of a path, in which "*" stands for any text and a final "$" for the end of the path.
//
// The rules that the file switches on use version 1 of the lists, unless it names another with
// "lists", or the profile uses lists already: see [WithLists]. docs/RULES.md has examples.
//
// The hosts of trust_declared are those whose No-Vary-Search and Clean-param declarations
// "firstseen serve" uses as rules. The list has no effect on the profile.
//
// No entry changes the site of a URL. So the same entries hold for a URL and for its canonical
// form, and [Qiita] keeps its laws.
//
// An entry may have a "source". The learn command writes there whether the entry is based on
// content or on declarations of the site. It has no effect except that [Step].Scope names it.
//
// Errors name the line. WithRuleFile reads r to its end.
func WithRuleFile(r io.Reader) Option {
	return func(s *settings) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("cannot read rule file: %w", err)
		}
		f := newFileReader(data)
		if err := f.read(s); err != nil {
			return fmt.Errorf("cannot read rule file: line %d: %w", f.line(), err)
		}
		return nil
	}
}

func (f *fileReader) read(s *settings) error {
	params, sites := &paramRules{hostTable: newHostTable()}, &siteRules{hostTable: newHostTable()}
	on := s.on
	given, err := f.chooseLists(s)
	if err != nil {
		return err
	}
	err = f.object(func(key string) (err error) {
		switch key {
		case "comment":
			_, err = f.text()
		case "lists":
			_, err = f.token()
		case "rules":
			err = f.array(func() error { return f.switchOne(&on) })
		case "params":
			err = f.array(func() error { return f.entry(params) })
		case "sites":
			err = f.array(func() error { return f.site(sites) })
		case "trust_declared":
			err = f.array(func() error {
				_, err := f.checked(scopeHost)
				return err
			})
		default:
			err = fmt.Errorf("got key %q; want comment, lists, rules, params, sites or trust_declared", key)
		}
		return err
	})
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return err
	}
	s.on, s.params, s.sites = on.without(rScopedParams).without(rScopedRules), nil, nil
	if params.digest != "" {
		s.on, s.params = s.on.with(rScopedParams), params
	}
	if sites.digest != "" {
		s.on, s.sites = s.on.with(rScopedRules), sites
	}
	if !given && (s.sites != nil || s.usesLists()) {
		s.lists, s.pinned = f.lists, true
	}
	for _, sc := range params.list {
		if sc.source != "Clean-param" && sc.source != "No-Vary-Search" && !s.canHold(sc) { // what hosts declare is not the user's mistake
			f.at = sc.at
			return fmt.Errorf("got an entry for %s, which can never hold: with the rules that are on, no URL has a canonical form like that; want the host and path of a canonical form", sc)
		}
	}
	return nil
}

// canHold reports whether some URL has a canonical form that an entry covers. It tries the URLs that the
// entry describes: its host, or one below its domain, and its path, also with a text behind it and in place of
// each asterisk. An entry for "/a//b" never holds where slashes are collapsed, nor one for a www host where www is
// stripped.
func (s *settings) canHold(sc *scope) bool {
	bare := *s
	bare.params, bare.on = nil, bare.on.without(rScopedParams).without(rDropQuery)
	q := &qiita{settings: bare, scoped: bare.sites != nil && bare.on.has(rScopedRules)}
	q.note()
	host := strings.TrimPrefix(sc.host, "*.")
	if host == "*" {
		host = "host.example"
	} else if host != sc.host {
		host = "host." + host
	}
	path, end := sc.path, false
	if sc.pattern != nil {
		path, end = strings.CutSuffix(sc.pattern.text, "$")
	}
	only := paramRules{hostTable: newHostTable()}
	only.add(sc)
	for _, text := range []string{"", "x", "/x", "x/x"} {
		url := strings.ReplaceAll(path, "*", text)
		if !strings.HasPrefix(url, "/") {
			url = "/" + url
		}
		for _, tail := range []string{"", text} {
			if end && tail != "" {
				continue
			}
			form, err := q.appendCanonical(nil, []byte("http://"+host+url+tail))
			if err != nil {
				continue
			}
			_, rest, _ := strings.Cut(string(form), "//")
			authority, path := whatwg.CutBefore(rest, "/")
			if len(only.scopesFor([]byte(authority), []byte(path))) > 0 {
				return true
			}
		}
	}
	return false
}

// chooseLists sets the lists of the file's rules. A profile that uses lists keeps those that it has: given
// is true then. Else they are those that the file names. A file that names none has version 1, whatever
// is the newest, because it may be older than the program, and a store does not record it.
func (f *fileReader) chooseLists(s *settings) (given bool, err error) {
	var named struct{ Lists json.RawMessage }
	_ = json.Unmarshal(f.data, &named) // an error has a line when it is read again
	want := settings{lists: versions[1]}
	if named.Lists != nil {
		n, err := strconv.Atoi(string(named.Lists))
		if err == nil {
			err = WithLists(n)(&want)
		}
		if err != nil {
			return false, fmt.Errorf("got lists %s; want a version from 1 to %d", named.Lists, newestLists)
		}
	}
	f.lists = want.lists
	if given = s.usesLists(); given || s.pinned {
		f.lists = s.lists
	}
	if named.Lists != nil && f.lists != want.lists {
		return false, fmt.Errorf("got lists %d; want %d, those of the profile that the file is used with", want.lists.version, f.lists.version)
	}
	return given, nil
}

func (f *fileReader) switchOne(on *ruleSet) error {
	rule, plus, err := f.signed()
	if err == nil {
		*on, err = on.switchRule(rule, plus)
	}
	return err
}

// signed reads a rule after + or -.
func (f *fileReader) signed() (r Rule, plus bool, err error) {
	word, err := f.text()
	if err == nil && (word == "" || word[0] != '+' && word[0] != '-') {
		err = fmt.Errorf("got rule %q; want a name after + or -", word)
	}
	if err != nil {
		return "", false, err
	}
	return Rule(word[1:]), word[0] == '+', nil
}

// place reads what entries of both kinds have, host, path, source and comment. more reads the value of any other key, and
// reports whether it knows the key.
func (f *fileReader) place(host, path func(string) (string, error), keys string, more func(sc *scope, key string) (bool, error)) (*scope, error) {
	sc := &scope{}
	err := f.object(func(key string) (err error) {
		known := true
		switch key {
		case "comment":
			_, err = f.text()
		case "source":
			sc.source, err = f.text()
		case "host":
			sc.host, err = f.checked(host)
		case "path":
			sc.path, err = f.checked(path)
		default:
			known, err = more(sc, key)
		}
		if !known {
			err = fmt.Errorf("got key %q; want %s", key, keys)
		}
		return err
	})
	if err == nil && sc.host == "" {
		err = errors.New(`got an entry without host; want one, "*" for all`)
	}
	return sc, err
}

// entry reads one entry of params.
func (f *fileReader) entry(params *paramRules) error {
	var pattern string
	var drop, keep []string
	dropSeen, keepSeen := false, false
	sc, err := f.place(scopeHost, scopePath, "host, path, pattern, drop, keep, comment or source", func(_ *scope, key string) (_ bool, err error) {
		switch key {
		case "pattern":
			pattern, err = f.checked(scopePattern)
		case "drop":
			dropSeen = true
			drop, err = f.names()
		case "keep":
			keepSeen = true
			keep, err = f.names()
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return err
	case sc.path != "" && pattern != "":
		return errors.New("got an entry with both path and pattern; want one of them")
	case !dropSeen && !keepSeen:
		return errors.New("got an entry with neither drop nor keep; want one of them")
	}
	sc.at = f.dec.InputOffset()
	text := fmt.Sprintf("%q %q %t %q", sc.host, sc.path, dropSeen, append(drop, keep...))
	if dropSeen {
		sc.drop = newNameSet(drop)
	}
	if keepSeen {
		sc.keep = newNameSet(keep)
	}
	if dropSeen && keepSeen {
		text += fmt.Sprintf(" keep %q", keep)
	}
	if pattern != "" {
		sc.pattern = newPathPattern(pattern)
		text += fmt.Sprintf(" pattern %q", pattern)
	}
	params.add(sc)
	params.list = append(params.list, sc)
	params.digest = chainDigest(params.digest, text)
	return nil
}

// switchAt reads one rule of an entry for a site.
func (f *fileReader) switchAt(sc *scope) error {
	rule, plus, err := f.signed()
	if err != nil {
		return err
	}
	id, on, err := switched(rule, plus)
	switch {
	case err != nil:
		return err
	case !perSite.has(id):
		return fmt.Errorf("got rule %q, which can't be switched for a site; want one of %s", rule, perSite.list())
	case (sc.on | sc.off).has(id):
		return fmt.Errorf("got rule %q, switched before; want it once", rule)
	case on:
		sc.on = sc.on.with(id)
	default:
		sc.off = sc.off.with(id)
	}
	sc.text = strings.TrimPrefix(sc.text+","+map[bool]string{true: "+", false: "-"}[plus]+string(rule), ",")
	return nil
}

// site reads one entry of sites.
func (f *fileReader) site(sites *siteRules) error {
	sc, err := f.place(siteHost, f.sitePath, "host, path, rules, comment or source", func(sc *scope, key string) (bool, error) {
		if key != "rules" {
			return false, nil
		}
		return true, f.array(func() error { return f.switchAt(sc) })
	})
	if err != nil {
		return err
	}
	if sc.on|sc.off == 0 {
		return errors.New("got an entry without rules; want some to switch")
	}
	sites.add(sc)
	sites.on |= sc.on
	sites.digest = chainDigest(sites.digest, fmt.Sprintf("%q %q %v %v", sc.host, sc.path, sc.on.names(), sc.off.names()))
	return nil
}

func (f *fileReader) checked(check func(string) (string, error)) (string, error) {
	s, err := f.text()
	if err != nil {
		return "", err
	}
	return check(s)
}

func (f *fileReader) names() (names []string, err error) {
	err = f.array(func() error {
		name, err := f.checked(scopeName)
		names = append(names, name)
		return err
	})
	return names, err
}

// chainDigest is the digest of what digest stands for, and then text.
func chainDigest(digest, text string) string {
	sum := sha256.Sum256([]byte(digest + "\n" + text))
	return hex.EncodeToString(sum[:8])
}

// hostRules write a name without escapes canonically.
var hostRules = []ruleID{rLowercaseHost, rHostToASCII, rCanonicalIP}

// scopeHost checks a host and returns its canonical form.
func scopeHost(s string) (string, error) {
	host, want := hostOfRule(s)
	if want != "" {
		return "", fmt.Errorf("got host %q; want %s", s, want)
	}
	return host, nil
}

// hostOfRule returns the canonical form of the host of a rule, or what to write instead of a host that no URL can have. Of hosts
// that the URL Standard takes, those with an empty label or a "*" are mistakes: a variable that was empty, or another pattern.
func hostOfRule(s string) (host, want string) {
	domain, below := strings.CutPrefix(s, "*.")
	switch {
	case s == "*":
		return s, ""
	case strings.Trim(s, "*.") == "":
		return "", `a name: a host, or a domain behind "*."`
	}
	if name := strings.TrimPrefix(s, "."); name != s && name != "" && !below {
		return "", fmt.Sprintf("*.%s for the hosts below it, or %[1]s", strings.TrimLeft(name, "."))
	}
	name, port := whatwg.CutPort(domain)
	literal := strings.HasPrefix(domain, "[")
	w := &work{Parts: whatwg.Parts{Host: name, Port: port, Literal: literal}, on: setOfRules(hostRules)}
	for _, id := range hostRules {
		w.apply(id)
	}
	switch {
	case w.err != nil || port != "":
		return "", `a valid one without port, "*.domain" or "*"`
	case literal && !below:
		return w.Host, ""
	case below && (literal || whatwg.EndsInNumber(w.Host)):
		return "", "a domain behind *., an address alone, or a range of addresses, such as 192.0.2.0/24"
	}
	if name := strings.TrimSuffix(w.Host, "."); name == "" || name[0] == '.' || strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "*") {
		return "", `a name with something between its dots, and "*" only in "*.domain"`
	}
	if below {
		return "*." + w.Host, ""
	}
	return w.Host, ""
}

// scopePath checks a path and returns its canonical form.
func scopePath(s string) (string, error) {
	path := normalizeEscapes(s, pathRaw)
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, `?#\`) || whatwg.WithoutDots(path) != path {
		return "", fmt.Errorf(`got path %q; want one that begins with "/", without "?", "#", "\" and dot segments`, s)
	}
	return path, nil
}

// scopePattern checks a pattern and returns it in canonical form. A "$" that is not at the end stands
// for itself.
func scopePattern(s string) (string, error) {
	pattern := newPathPattern(s).text
	text, path := strings.TrimSuffix(s, "$"), strings.TrimSuffix(pattern, "$")
	if text == "" || text[0] != '/' && text[0] != '*' || strings.ContainsAny(text, `?#\`) || whatwg.WithoutDots(path) != path {
		return "", fmt.Errorf(`got pattern %q; want one that begins with "/" or "*", without "?", "#", "\" and dot segments`, s)
	}
	return pattern, nil
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
		return "", fmt.Errorf(`got host %q; want it without "www." and final dot: an entry applies with and without them`, s)
	}
	return host, nil
}

// sitePath checks the path of an entry for a site. A final slash makes no difference.
func (f *fileReader) sitePath(s string) (string, error) {
	path, err := scopePath(s)
	if err != nil {
		return "", err
	}
	w := &work{Parts: whatwg.Parts{Path: path}, on: siteFolds, lists: f.lists}
	for _, id := range []ruleID{rCollapseSlashes, rStripTrailingSlash, rStripIndex} {
		w.apply(id)
	}
	trimmed := strings.TrimSuffix(path, "/")
	if trimmed != strings.TrimSuffix(w.Path, "/") {
		return "", fmt.Errorf(`got path %q; want it without "//" and index file: an entry applies with and without them`, s)
	}
	return trimmed, nil
}

// fileReader reads JSON token by token, so that every error names its line;
// encoding/json alone knows no place for unknown and duplicate keys.
type fileReader struct {
	data  []byte
	dec   *json.Decoder
	lists *lists // of the rules in the file
	at    int64  // where the error is; 0 if it is in the token read last
}

func newFileReader(data []byte) *fileReader {
	return &fileReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
}

// line is the number of the line of the error, from 1.
func (f *fileReader) line() int {
	at := int(cmp.Or(f.at, f.dec.InputOffset()))
	return 1 + bytes.Count(f.data[:min(at, len(f.data))], []byte("\n"))
}

func (f *fileReader) token() (json.Token, error) {
	t, err := f.dec.Token()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		f.at = syntax.Offset
	} else if err != nil {
		f.at = int64(len(f.data))
		err = errors.New("got the end of the file inside the object; want the rest")
	}
	return t, err
}

func (f *fileReader) delim(want json.Delim) error {
	t, err := f.token()
	if err == nil && t != want {
		err = fmt.Errorf("got %v; want %v", t, want)
	}
	return err
}

// object reads an object and calls value for each key, to read its value.
func (f *fileReader) object(value func(key string) error) error {
	if err := f.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for f.dec.More() {
		t, err := f.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // keys are strings, or token would have failed
		if seen[key] {
			return fmt.Errorf("got key %q twice; want it once", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return f.delim('}')
}

// array reads an array and calls element to read each element.
func (f *fileReader) array(element func() error) error {
	if err := f.delim('['); err != nil {
		return err
	}
	for f.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return f.delim(']')
}

func (f *fileReader) text() (string, error) {
	t, err := f.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("got %v; want a string", t)
	}
	return s, nil
}

// end wants nothing more.
func (f *fileReader) end() error {
	if t, err := f.dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("got %v after the object; want the end of the file", t)
	}
	return nil
}

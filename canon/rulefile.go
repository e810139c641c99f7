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
	"reflect"
	"slices"
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
// Errors name the line, of an entry its first. WithRuleFile reads r to its end.
func WithRuleFile(r io.Reader) Option {
	return func(s *settings) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("cannot read rule file: %w", err)
		}
		f := &fileReader{data: data, places: map[string][]int64{}, at: []int64{0}}
		if err := f.read(s); err != nil {
			return fmt.Errorf("cannot read rule file: line %d: %w", f.line(), err)
		}
		return nil
	}
}

// ruleFile is the form of a rule file. What is empty and what is not there differ.
type ruleFile struct {
	Comment string
	Lists   json.RawMessage
	Rules   []string
	Params  []fileEntry
	Sites   []fileEntry
	Trust   []string `json:"trust_declared"`
}

type fileEntry struct {
	Comment, Source     string
	Host, Path, Pattern *string
	Drop, Keep, Rules   []string
}

// fileKeys are the keys that an object may have, by the key of the list that it is in; "" is the file.
var fileKeys = map[string][]string{
	"":       {"comment", "lists", "rules", "params", "sites", "trust_declared"},
	"params": {"host", "path", "pattern", "drop", "keep", "comment", "source"},
	"sites":  {"host", "path", "rules", "comment", "source"},
}

func (f *fileReader) read(s *settings) error {
	var file ruleFile
	if err := f.decode(&file); err != nil {
		return err
	}
	params, sites := &paramRules{hostTable: newHostTable()}, &siteRules{hostTable: newHostTable()}
	f.at = f.places["lists"]
	given, err := f.chooseLists(s, file.Lists)
	if err != nil {
		return err
	}
	on := s.on
	for i, word := range file.Rules {
		f.at = f.places["rules"][i+1:]
		rule, plus, err := signed(word)
		if err == nil {
			on, err = on.switchRule(rule, plus)
		}
		if err != nil {
			return err
		}
	}
	for i, host := range file.Trust {
		f.at = f.places["trust_declared"][i+1:]
		if _, err := scopeHost(host); err != nil {
			return err
		}
	}
	if err := f.entries("params", file.Params, scopeHost, scopePath, params.read); err != nil {
		return err
	}
	if err := f.entries("sites", file.Sites, siteHost, f.sitePath, sites.read); err != nil {
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
	for i, sc := range params.list {
		if sc.source != "Clean-param" && sc.source != "No-Vary-Search" && !s.canHold(sc) { // what hosts declare is not the user's mistake
			f.at = f.places["params"][i+1:]
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
func (f *fileReader) chooseLists(s *settings, named json.RawMessage) (given bool, err error) {
	want := settings{lists: versions[1]}
	if named != nil {
		n, err := strconv.Atoi(string(named))
		if err == nil {
			err = WithLists(n)(&want)
		}
		if err != nil {
			return false, fmt.Errorf("got lists %s; want a version from 1 to %d", named, newestLists)
		}
	}
	f.lists = want.lists
	if given = s.usesLists(); given || s.pinned {
		f.lists = s.lists
	}
	if named != nil && f.lists != want.lists {
		return false, fmt.Errorf("got lists %d; want %d, those of the profile that the file is used with", want.lists.version, f.lists.version)
	}
	return given, nil
}

// signed parts a rule from the + or - before it.
func signed(word string) (r Rule, plus bool, err error) {
	if word == "" || word[0] != '+' && word[0] != '-' {
		return "", false, fmt.Errorf("got rule %q; want a name after + or -", word)
	}
	return Rule(word[1:]), word[0] == '+', nil
}

// entries reads a list of entries: their host and path, and what else read takes of them.
func (f *fileReader) entries(key string, list []fileEntry, host, path func(string) (string, error), read func(*fileEntry, *scope) error) (err error) {
	for i := range list {
		e, sc := &list[i], &scope{source: list[i].Source}
		f.at = f.places[key][i+1:]
		if e.Host == nil {
			return errors.New(`got an entry without host; want one, "*" for all`)
		}
		if sc.host, err = host(*e.Host); err == nil && e.Path != nil {
			sc.path, err = path(*e.Path)
		}
		if err == nil {
			err = read(e, sc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read adds an entry of params.
func (p *paramRules) read(e *fileEntry, sc *scope) error {
	switch {
	case e.Path != nil && e.Pattern != nil:
		return errors.New("got an entry with both path and pattern; want one of them")
	case e.Drop == nil && e.Keep == nil:
		return errors.New("got an entry with neither drop nor keep; want one of them")
	}
	names := slices.Concat(e.Drop, e.Keep)
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%q %q %t %q", sc.host, sc.path, e.Drop != nil, names)
	if e.Drop != nil {
		sc.drop = newNameSet(e.Drop)
	}
	if e.Keep != nil {
		sc.keep = newNameSet(e.Keep)
	}
	if e.Drop != nil && e.Keep != nil {
		text += fmt.Sprintf(" keep %q", e.Keep)
	}
	if e.Pattern != nil {
		pattern, err := scopePattern(*e.Pattern)
		if err != nil {
			return err
		}
		sc.pattern = newPathPattern(pattern)
		text += fmt.Sprintf(" pattern %q", pattern)
	}
	p.add(sc)
	p.list = append(p.list, sc)
	p.digest = chainDigest(p.digest, text)
	return nil
}

// read adds an entry of sites.
func (s *siteRules) read(e *fileEntry, sc *scope) error {
	if len(e.Rules) == 0 {
		return errors.New("got an entry without rules; want some to switch")
	}
	for _, word := range e.Rules {
		rule, plus, err := signed(word)
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
	}
	sc.text = strings.Join(e.Rules, ",")
	s.add(sc)
	s.on |= sc.on
	s.digest = chainDigest(s.digest, fmt.Sprintf("%q %q %v %v", sc.host, sc.path, sc.on.names(), sc.off.names()))
	return nil
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

func checkName(s string) error {
	if s == "" || strings.ContainsAny(s, "&=#") || strings.Contains(strings.TrimSuffix(s, "*"), "*") {
		return fmt.Errorf(`got parameter name %q; want one without "&", "=" and "#" (write %%26, %%3D, %%23), "*" at most at the end`, s)
	}
	return nil
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

// fileReader reads a rule file so that errors have a line.
type fileReader struct {
	data   []byte
	lists  *lists             // of the rules in the file
	places map[string][]int64 // where the value of a key begins, and behind that, of a list, each element
	at     []int64            // begins with the place of the error
}

// line is the number of the line of the error, from 1.
func (f *fileReader) line() int {
	return 1 + bytes.Count(f.data[:min(int(f.at[0]), len(f.data))], []byte("\n"))
}

// decode reads the file, once its text was scanned.
func (f *fileReader) decode(file *ruleFile) error {
	if err := f.scan(); err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	err := json.Unmarshal(f.data, file)
	if errors.As(err, &wrong) {
		f.at = []int64{wrong.Offset}
		want := map[reflect.Kind]string{reflect.String: "a string", reflect.Slice: "an array", reflect.Struct: "an object"}[wrong.Type.Kind()]
		err = fmt.Errorf("got %s as %s; want %s", wrong.Value, cmp.Or(strings.ToLower(wrong.Field), "the file"), want)
	}
	return err
}

// scan looks for what encoding/json takes: unknown keys, a key twice or in other letter case, and null.
func (f *fileReader) scan() error {
	dec := json.NewDecoder(bytes.NewReader(f.data))
	var value func(of string, depth int) error
	value = func(of string, depth int) error {
		t, err := dec.Token()
		if depth > 4 {
			return fmt.Errorf("got %v within %d others; want a rule file, which has 4 at most", t, depth)
		}
		f.places[of] = append(f.places[of], dec.InputOffset())
		switch t {
		case nil:
			return cmp.Or(err, errors.New("got null; want a value"))
		case json.Delim('['):
			for err == nil && dec.More() {
				err = value(of, depth+1)
			}
		case json.Delim('{'):
			seen := map[any]bool{}
			for err == nil && dec.More() {
				if t, err = dec.Token(); err != nil {
					return err
				}
				key, keys := t.(string), fileKeys[of]
				switch {
				case keys == nil:
					return errors.New("got an object; want a value without keys here")
				case !slices.Contains(keys, key):
					return fmt.Errorf("got key %q; want one of %s", key, strings.Join(keys, ", "))
				case seen[key]:
					return fmt.Errorf("got key %q twice; want it once", key)
				}
				seen[key] = true
				err = value(strings.TrimPrefix(of+"."+key, "."), depth+1)
			}
		default:
			return err
		}
		if err == nil {
			_, err = dec.Token() // the end
		}
		return err
	}
	err := value("", 0)
	if err == nil {
		if t, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = fmt.Errorf("got %v after the object; want the end of the file", t)
		}
	}
	f.at = []int64{dec.InputOffset()}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		f.at[0] = syntax.Offset
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.at[0] = int64(len(f.data))
		err = errors.New("got the end of the file inside the object; want the rest")
	}
	return err
}

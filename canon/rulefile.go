package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// WithRuleFile reads a rule file and adds its rules to the profile; those of an earlier
// file go. A rule file is one JSON object:
//
//	{
//	  "comment": "free text, here and in each entry of params",
//	  "rules":   ["+strip-www", "-collapse-slashes"],
//	  "params":  [
//	    {"host": "wiki.example.org", "path": "/w/", "drop": ["oldid", "utm_*"]},
//	    {"host": "*.example.com", "keep": ["id", "page"]},
//	    {"host": "*", "drop": ["ref"]}
//	  ]
//	}
//
// An entry of params holds at one host, at all hosts below a domain ("*.example.com"),
// or everywhere ("*"), without regard to the port; and at a path and all below it, whole
// segments only ("/" at the end: only below). It drops the parameters named, or all but
// those to keep; a name may end in "*". Where several entries hold, a parameter goes if
// one of them drops it. Host and path are compared with those of the canonical form, so
// with strip-www on no entry for a www host holds.
//
// Errors tell the line. The reader is read to its end.
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
	params := newParamRules()
	on := s.on
	err := f.object(func(key string) (err error) {
		switch key {
		case "comment":
			_, err = f.text()
		case "rules":
			err = f.array(func() error { return f.switchOne(&on) })
		case "params":
			err = f.array(func() error { return f.entry(params) })
		default:
			err = fmt.Errorf("got key %q; want comment, rules or params", key)
		}
		return err
	})
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return err
	}
	s.on, s.params = on.with(rScopedParams), params
	return nil
}

func (f *fileReader) switchOne(on *ruleSet) error {
	word, err := f.text()
	if err != nil {
		return err
	}
	if word == "" || word[0] != '+' && word[0] != '-' {
		return fmt.Errorf("got rule %q; want a name after + or -", word)
	}
	*on, err = on.switchRule(Rule(word[1:]), word[0] == '+')
	return err
}

// entry reads one entry of params.
func (f *fileReader) entry(params *paramRules) error {
	var host, path string
	var drop, keep []string
	dropSeen, keepSeen := false, false
	err := f.object(func(key string) (err error) {
		switch key {
		case "comment":
			_, err = f.text()
		case "host":
			host, err = f.checked(scopeHost)
		case "path":
			path, err = f.checked(scopePath)
		case "drop":
			dropSeen = true
			drop, err = f.names()
		case "keep":
			keepSeen = true
			keep, err = f.names()
		default:
			err = fmt.Errorf("got key %q; want host, path, drop, keep or comment", key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case host == "":
		return errors.New(`got an entry without host; want one, "*" for all`)
	case dropSeen && keepSeen:
		return errors.New("got an entry with both drop and keep; want one of them")
	case !dropSeen && !keepSeen:
		return errors.New("got an entry with neither drop nor keep; want one of them")
	}
	sc := &scope{path: path}
	if dropSeen {
		sc.drop = newNameSet(drop)
	} else {
		sc.keep = newNameSet(keep)
	}
	params.add(host, sc, fmt.Sprintf("%q %q %t %q", host, path, dropSeen, append(drop, keep...)))
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

func newParamRules() *paramRules {
	return &paramRules{exact: map[string][]*scope{}, below: map[string][]*scope{}}
}

// add files the scope under its host, and its text into the digest.
func (r *paramRules) add(host string, sc *scope, text string) {
	domain, below := strings.CutPrefix(host, "*.")
	switch {
	case host == "*":
		r.all = append(r.all, sc)
	case below:
		r.below[domain] = append(r.below[domain], sc)
	default:
		r.exact[host] = append(r.exact[host], sc)
	}
	sum := sha256.Sum256([]byte(r.digest + "\n" + text))
	r.digest = hex.EncodeToString(sum[:8])
}

// scopeHost checks a host and gives its canonical form.
func scopeHost(s string) (string, error) {
	prefix, host := "", s
	if s == "*" {
		return s, nil
	}
	if domain, ok := strings.CutPrefix(s, "*."); ok {
		prefix, host = "*.", domain
	}
	w := &work{}
	w.host, w.port = cutPort(host)
	w.literal = strings.HasPrefix(host, "[")
	for _, rule := range []func(*work) error{(*work).lowercaseHost, (*work).hostToASCII, (*work).canonicalIP} {
		if err := rule(w); err != nil || w.port != "" {
			return "", fmt.Errorf(`got host %q; want a valid one without port, "*.domain" or "*"`, s)
		}
	}
	return prefix + w.host, nil
}

// scopePath checks a path and gives its canonical form.
func scopePath(s string) (string, error) {
	path := normalizeEscapes(s, pathRaw)
	w := &work{parts: parts{path: path}}
	_ = w.dotSegments()
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, `?#\`) || w.path != path {
		return "", fmt.Errorf(`got path %q; want one that begins with "/", without "?", "#", "\" and dot segments`, s)
	}
	return path, nil
}

func scopeName(s string) (string, error) {
	if s == "" || strings.ContainsAny(s, "&=#") || strings.Contains(strings.TrimSuffix(s, "*"), "*") {
		return "", fmt.Errorf(`got parameter name %q; want one without "&", "=" and "#" (write %%26, %%3D, %%23), "*" at most at the end`, s)
	}
	return s, nil
}

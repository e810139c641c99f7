package replay

import (
	"bytes"

	"github.com/firstseen/firstseen/canon"
)

// redirect is what a redirect does to the canonical form.
type redirect uint8

const (
	noRedirect redirect = iota
	sameForm            // to the form it came from: the rules merge the two already
	toHTTPS
	fromHTTPS
	addsWWW
	dropsWWW
	slashOnly
	sameHost
	otherHost
	redirectKinds
)

// redirectNames are in the order of the constants.
var redirectNames = [redirectKinds]string{
	"", "to the same canonical form", "http to https", "https to http", "adds www.", "drops www.", "adds or drops a trailing slash",
	"elsewhere on the host", "to another host",
}

// A Redirect is how many distinct URLs redirect in one way. What a server itself
// joins by scheme, www or slash, a rule would join rightly.
type Redirect struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	From  string `json:"from"` // the first of them
	To    string `json:"to"`
}

// classify returns the kind of a redirect from a URL, whose canonical form is given.
func classify(p *canon.Profile, raw, form, target []byte) (redirect, []byte) {
	base, err := canon.ParseBase(string(raw))
	if err != nil {
		return noRedirect, nil
	}
	to, err := p.AppendCanonical(nil, []byte(base.Resolve(string(target))))
	if err != nil {
		return noRedirect, nil
	}
	return compareForms(form, to), to
}

// compareForms looks for the one thing that differs, and returns the widest class
// when there is more than one.
func compareForms(from, to []byte) redirect {
	fromScheme, fromRest, _ := bytes.Cut(from, []byte("://"))
	toScheme, toRest, _ := bytes.Cut(to, []byte("://"))
	www := []byte("www.")
	switch {
	case bytes.Equal(from, to):
		return sameForm
	case bytes.Equal(fromRest, toRest) && string(toScheme) == "https":
		return toHTTPS
	case bytes.Equal(fromRest, toRest) && string(fromScheme) == "https":
		return fromHTTPS
	case bytes.Equal(append(www[:4:4], fromRest...), toRest):
		return addsWWW
	case bytes.Equal(fromRest, append(www[:4:4], toRest...)):
		return dropsWWW
	case bytes.Equal(bytes.TrimSuffix(fromRest, []byte("/")), bytes.TrimSuffix(toRest, []byte("/"))):
		return slashOnly
	case bytes.Equal(canon.Host(from), canon.Host(to)):
		return sameHost
	}
	return otherHost
}

// redirectCounts tallies them.
type redirectCounts [redirectKinds]Redirect

func (c *redirectCounts) add(kind redirect, from, to []byte) {
	if kind == noRedirect {
		return
	}
	r := &c[kind]
	if r.Count++; r.Count == 1 {
		r.Kind, r.From, r.To = redirectNames[kind], excerpt(from), excerpt(to)
	}
}

func (c *redirectCounts) result() []Redirect {
	list := []Redirect{}
	for _, r := range c {
		if r.Count > 0 {
			list = append(list, r)
		}
	}
	return list
}

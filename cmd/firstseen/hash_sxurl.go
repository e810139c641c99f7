package main

import (
	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/sxurl"
)

// sxurlHashed is the answer of the sxurl families.
type sxurlHashed struct {
	Input string `json:"input"`
	SXURL string `json:"sxurl"`
}

func (s sxurlHashed) text() string { return s.SXURL }

// sxurlFamilies are the two encodings; without --profile they do their own parsing.
func sxurlFamilies() []family {
	return []family{
		{name: "sxurl", profile: "whatwg", open: sxurlEncoding(sxurl.Release02)},
		{name: "sxurl-1.1", profile: "whatwg", open: sxurlEncoding(sxurl.Release11)},
	}
}

func sxurlEncoding(l sxurl.Layout) func(*canon.Profile) (func(string) (answer, error), error) {
	return func(p *canon.Profile) (func(string) (answer, error), error) {
		encoder := sxurl.NewEncoder(sxurl.Codec{Layout: l})
		return func(raw string) (answer, error) {
			form, err := raw, error(nil)
			if p.Name() != "whatwg" {
				form, err = p.Canonicalize(raw)
			}
			if err != nil {
				return nil, err
			}
			key, err := encoder.Encode(form)
			if err != nil {
				return nil, err
			}
			return sxurlHashed{raw, key.Hex()}, nil
		}, nil
	}
}

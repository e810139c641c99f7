package main

import (
	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
)

// urlHashed is the answer of the url-hash families. The hashes are in hexadecimal;
// display is the crate's own form, four decimal words.
type urlHashed struct {
	Input     string `json:"input"`
	Canonical string `json:"canonical"`
	Hash      string `json:"hash"`
	Short     string `json:"short"`
	VeryShort string `json:"very_short"`
	Display   string `json:"display"`
}

func (u urlHashed) text() string { return u.Hash }

// urlHashFamily is what the document of the url-hash crate says: SHA-256.
func urlHashFamily() family {
	return family{name: "url-hash", profile: "qiita", open: urlHashing(hashkey.Sum)}
}

// urlHashCrateFamily is what the released crate does: SHA-384, cut to 32 bytes.
func urlHashCrateFamily() family {
	return family{name: "url-hash-crate", profile: "whatwg", open: urlHashing(hashkey.UrlHashCrate)}
}

func urlHashing(sum func([]byte) hashkey.UrlHash) func(*canon.Profile) (func(string) (answer, error), error) {
	return func(p *canon.Profile) (func(string) (answer, error), error) {
		return func(raw string) (answer, error) {
			form, err := p.Canonicalize(raw)
			if err != nil {
				return nil, err
			}
			h := sum([]byte(form))
			return urlHashed{raw, form, h.Hex(), h.Short().Hex(), h.VeryShort().Hex(), h.Display()}, nil
		}, nil
	}
}

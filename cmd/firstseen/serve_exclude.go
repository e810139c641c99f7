package main

import (
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// excludeFlags name a list of URLs never to fetch, which doesn't say what it hides.
type excludeFlags struct{ file, variant string }

func (e *excludeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&e.file, "exclude-hashed", "", "file of hashed URIs, one a line: what they hide is refused")
	fs.StringVar(&e.variant, "exclude-variant", "N", "canonical form that the list was made with: none, N or P")
}

// open reads the list; without one it gives nil.
func (e *excludeFlags) open() (frontier.Excluder, error) {
	if e.file == "" {
		return nil, nil
	}
	variant, err := hashedVariant(e.variant)
	if err != nil {
		return nil, err
	}
	list, err := openHashedList(e.file, hasheduri.Hasher{Variant: variant})
	if err != nil {
		return nil, misuse{err}
	}
	return list, nil
}

package pebblestore

import (
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

// AlsoSeen is a key file whose keys count as seen: see Options.AlsoSeen.
type AlsoSeen struct {
	Path  string
	Crawl string // as the store names it; "" is all crawls
}

func (s *Store) openAlsoSeen() error {
	for _, f := range s.opt.AlsoSeen {
		set, err := keyfile.OpenSet(f.Path)
		if err != nil {
			return err
		}
		s.also = append(s.also, alsoSet{set, f.Crawl})
		if id := s.Identity(); id != (store.Identity{}) {
			if err := accepts(id, set.Header()); err != nil {
				return fmt.Errorf("cannot use key file %s: %w", f.Path, err)
			}
		}
	}
	return nil
}

// alsoSet is an open key file, and the crawl that it is for.
type alsoSet struct {
	*keyfile.Set
	crawl string
}

// accepts returns an error if keys of a file are not made like those of a store.
func accepts(have store.Identity, h keyfile.Header) error {
	_, err := h.Identity.Adopt(have, false, h.UnicodeHosts)
	return err
}

// seenIn returns for each key the path of the key file that has it, "" for others;
// nil if no file has any.
func (s *Store) seenIn(crawl string, keys []store.Key) (paths []string, err error) {
	if len(s.also) == 0 {
		return nil, nil
	}
	s.gate.RLock() // Close unmaps the files
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	for _, f := range s.also {
		if f.crawl != "" && f.crawl != crawl {
			continue
		}
		known := make([]bool, len(keys))
		n, err := f.Find(keys, known)
		if err != nil {
			return nil, err
		}
		if n > 0 && paths == nil {
			paths = make([]string, len(keys))
		}
		for i := range known {
			if known[i] && paths[i] == "" {
				paths[i] = f.Path()
			}
		}
	}
	return paths, nil
}

// outside returns those of all that are in no key file.
func outside[T any](all []T, paths []string) (rest []T) {
	for i := range all {
		if paths[i] == "" {
			rest = append(rest, all[i])
		}
	}
	return rest
}

// answerAll answers for all keys: those in no key file have the answers of rest in turn.
func answerAll[T any](answers, rest []T, paths []string, seenIn func(path string) T) {
	for i, path := range paths {
		if path != "" {
			answers[i] = seenIn(path)
		} else {
			answers[i], rest = rest[0], rest[1:]
		}
	}
}

package trust

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier/declared"
)

const (
	maxFields = 256
	maxField  = 1024 // bytes
)

// fields remembers the No-Vary-Search fields that were read. A site sends the same one with all
// its responses, and to read and check one takes longer than the rest of a settlement. At most
// 256 fields of at most 1 KiB are remembered.
type fields map[string]field

// field is a No-Vary-Search field that was read.
type field struct {
	entry Entry // without host and pattern
	use   bool  // a rule file can have the entry
	err   error // why something is left out
}

// entries returns the entry for a field of the response at a path.
func (f fields) entries(host, path, text string) ([]Entry, error) {
	is, ok := f[text]
	if !ok {
		is = read(text)
		if len(f) >= maxFields {
			clear(f)
		}
		if len(text) <= maxField {
			f[strings.Clone(text)] = is
		}
	}
	if !is.use {
		return nil, is.err
	}
	if strings.ContainsAny(path, "*$") {
		return nil, fmt.Errorf("the path %q contains %q, which a pattern cannot", path, "*$")
	}
	e := is.entry
	e.Host, e.Pattern = host, path+"$"
	return []Entry{e}, is.err
}

func read(text string) field {
	s, err := declared.ParseNoVarySearch(text)
	if err != nil {
		return field{err: err}
	}
	if !s.OnlyListed && len(s.Ignored) == 0 {
		return field{} // parameters are compared in any order anyway
	}
	e := Entry{Host: "*", Pattern: "/", Source: "No-Vary-Search"}
	if s.OnlyListed {
		names, err := written(s.Matter)
		if err != nil { // without this name the rest would drop a parameter that matters
			return field{err: err}
		}
		e.Keep = &names
	} else if e.Drop, err = written(s.Ignored); len(e.Drop) == 0 {
		return field{err: err}
	}
	if refused := checkAll([]Entry{e}); refused != nil {
		return field{err: refused}
	}
	return field{e, true, err}
}

// isPlace reports whether a rule file can have an entry for a host and path because they are
// written as Qiita writes them. If not, it may still have one.
func isPlace(host, path string) bool {
	url := "http://" + host + path
	form, err := canon.Qiita().Canonicalize(url)
	return err == nil && form == url
}

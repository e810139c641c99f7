package main

import (
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// excludeFlags name a list of hashed URIs that are never fetched.
type excludeFlags struct{ file string }

func (e *excludeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&e.file, "exclude-hashed", "", "file of hashed URIs of variant N, one a line, or none:FILE or P:FILE of another variant: URLs that they exclude are neither accepted nor leased; SIGHUP reads it again")
}

// list returns the file, and the variant of its entries, which they do not record.
func (e *excludeFlags) list() (file string, v hasheduri.Variant) {
	for _, name := range []string{"none", "N", "P"} {
		if file, ok := strings.CutPrefix(e.file, name+":"); ok {
			v, _ = hashedVariant(name)
			return file, v
		}
	}
	return e.file, hasheduri.N
}

// open reads the list, nil for none.
func (e *excludeFlags) open() (*exclusion, error) {
	if e.file == "" {
		return nil, nil
	}
	x := &exclusion{flags: *e}
	return x, x.reload()
}

// exclusion is a list that is read again at SIGHUP. Safe for concurrent use.
type exclusion struct {
	flags excludeFlags
	list  atomic.Pointer[hasheduri.List]
}

// excluder returns what the frontier asks, or nil if there is no list.
func (x *exclusion) excluder() func(canonical string) bool {
	if x == nil {
		return nil
	}
	return func(canonical string) bool { return x.list.Load().Excluded(canonical) }
}

// reload reads the list again. If it can't be read, the old one stays.
func (x *exclusion) reload() error {
	if x == nil {
		return nil
	}
	file, variant := x.flags.list()
	list, err := openHashedList(file, hasheduri.Hasher{Variant: variant})
	if err != nil {
		return misuse{err}
	}
	x.list.Store(list)
	return nil
}

// log writes how long the list is, since a list that lost its entries is no error.
func (x *exclusion) log(log *slog.Logger) {
	if x != nil {
		log.Info("read the exclusion list", "file", x.flags.file, "entries", x.list.Load().Len())
	}
}

package server

import (
	"hash/maphash"

	"github.com/firstseen/firstseen/store"
)

// interner returns one string for equal names, which keeps no message in memory:
// a queue keeps its name as long as it exists. It is a table without chains: the
// later of two names in one place replaces the other.
type interner struct {
	seed   maphash.Seed
	names  []string
	misses int // since the table grew
}

// A table begins small, since most streams are short, and grows while names
// miss it.
const (
	firstNames = 1 << 6
	mostNames  = 1 << 14
)

func (in *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > store.MaxQueueKey { // will be refused; a table of such could hold gigabytes
		name, _ := asText(b)
		return name
	}
	if in.misses >= len(in.names) && len(in.names) < mostNames {
		in.grow()
	}
	at := &in.names[maphash.Bytes(in.seed, b)&uint64(len(in.names)-1)]
	if *at != string(b) {
		*at = string(b)
		in.misses++
	}
	return *at
}

func (in *interner) grow() {
	old := in.names
	if old == nil {
		in.seed = maphash.MakeSeed()
	}
	in.names, in.misses = make([]string, max(firstNames, 4*len(old))), 0
	for _, name := range old {
		if name != "" { // a free place must not take that of a name
			in.names[maphash.String(in.seed, name)&uint64(len(in.names)-1)] = name
		}
	}
}

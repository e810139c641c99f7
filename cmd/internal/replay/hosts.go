package replay

import (
	"cmp"
	"slices"
)

// HostStats are the counts of one host.
type HostStats struct {
	Host   string `json:"host"`
	URLs   int64  `json:"urls"`   // events
	Exact  int64  `json:"exact"`  // exact repeats
	Unique int64  `json:"unique"` // canonical forms
	// Bytes are what the log says was fetched, and what of it for duplicates.
	Bytes          int64 `json:"bytes,omitempty"`
	DuplicateBytes int64 `json:"duplicate_bytes,omitempty"`
}

// Duplicates is the number of events whose URL was seen before.
func (h HostStats) Duplicates() int64 { return h.URLs - h.Unique }

// hosts numbers hosts. Beyond mostHosts all others count as one.
type hosts struct {
	numbers map[string]uint32
	stats   column[HostStats]
	n       uint32
}

const (
	mostHosts  = 1 << 20
	otherHosts = "(other hosts)"
)

func newHosts() hosts { return hosts{numbers: map[string]uint32{}} }

func (h *hosts) number(host []byte) uint32 {
	if n, ok := h.numbers[string(host)]; ok {
		return n
	}
	name := string(host)
	if h.n >= mostHosts {
		name = otherHosts
		if n, ok := h.numbers[name]; ok {
			return n
		}
	}
	h.numbers[name] = h.n
	h.stats.at(h.n).Host = name
	h.n++
	return h.n - 1
}

func (h *hosts) at(number uint32) *HostStats { return h.stats.at(number) }

// byDuplicates lists the hosts, those with most duplicates first.
func (h *hosts) byDuplicates() []HostStats {
	list := make([]HostStats, h.n)
	for i := range h.n {
		list[i] = *h.at(i)
	}
	slices.SortFunc(list, func(a, b HostStats) int {
		return cmp.Or(cmp.Compare(b.Duplicates(), a.Duplicates()), cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Host, b.Host))
	})
	return list
}

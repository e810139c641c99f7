package audit

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/canon"
)

// control is how often fetching a URL of a cluster again gave the same content.
type control struct{ same, pairs int }

func (c control) plus(d control) control { return control{c.same + d.same, c.pairs + d.pairs} }

func (c control) share() float64 {
	if c.pairs == 0 {
		return 0
	}
	return float64(c.same) / float64(c.pairs)
}

// index is what all rules of an audit share.
type index struct {
	*Log
	first    []uint32 // where a URL's captures begin; they end where the next one's do
	host     []uint32 // number of a URL's host
	cluster  []uint64 // hash of a URL's host, directory and parameter names
	changes  []bool   // whether a URL was seen to change
	controls map[uint64]control
	hosts    table
	seed     maphash.Seed
	firsts   map[*Form][]uint32 // of the base forms
	sole     sync.Once
	soleRule []uint8 // see soleRules
}

// newIndex sorts the captures and measures the controls.
func newIndex(l *Log) (*index, error) {
	l.sort()
	x := &index{Log: l, hosts: newTable(), controls: map[uint64]control{}, seed: maphash.MakeSeed()}
	if err := x.nameHosts(); err != nil {
		return nil, err
	}
	x.dropSharedDigests()
	x.measureControls()
	return x, nil
}

// sort orders the captures by URL and time.
func (l *Log) sort() {
	if l.sorted {
		return
	}
	slices.SortFunc(l.captures, func(a, b capture) int {
		return cmp.Or(cmp.Compare(a.url, b.url), cmp.Compare(a.time, b.time), cmp.Compare(a.digest, b.digest))
	})
	l.sorted = true
}

// of returns the captures of a URL, in order of time.
func (x *index) of(url uint32) []capture { return x.captures[x.first[url]:x.first[url+1]] }

func (x *index) nameHosts() error {
	n := x.urls.len()
	x.first = make([]uint32, n+1)
	for _, c := range x.captures {
		x.first[c.url+1]++
	}
	x.host, x.cluster, x.changes = make([]uint32, n), make([]uint64, n), make([]bool, n)
	seed := maphash.MakeSeed()
	var buf []byte
	for i := range n {
		x.first[i+1] += x.first[i]
		url := x.urls.at(uint32(i))
		host := bytes.ToLower(canon.Host(url))
		id, err := x.hosts.add(string(host))
		if err != nil {
			return err
		}
		x.host[i] = id
		buf = appendCluster(buf[:0], host, url)
		x.cluster[i] = maphash.Bytes(seed, buf)
	}
	return nil
}

// appendCluster appends what the pages of one cluster have in common: host,
// directory, and the sorted names of the parameters.
func appendCluster(dst, host, url []byte) []byte {
	dst = append(append(dst, host...), ' ')
	url, _, _ = bytes.Cut(url, []byte{'#'})
	url, query, _ := bytes.Cut(url, []byte{'?'})
	if i := bytes.Index(url, []byte("://")); i >= 0 {
		url = url[i+3:]
	}
	if i := bytes.IndexByte(url, '/'); i >= 0 {
		path := url[i:]
		dst = append(dst, path[:bytes.LastIndexByte(path, '/')+1]...)
	}
	if len(query) == 0 {
		return dst
	}
	var names []string
	for pair := range bytes.SplitSeq(query, []byte{'&'}) {
		name, _, _ := bytes.Cut(pair, []byte{'='})
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		dst = append(append(dst, '&'), name...)
	}
	return dst
}

// dropSharedDigests takes the digests away that too many hosts share. Most
// digests have one host, so only further ones are listed.
func (x *index) dropSharedDigests() {
	first := make([]uint32, x.digests.len()+1)
	further := map[uint32][]uint32{}
	for _, c := range x.captures {
		switch host := x.host[c.url] + 1; {
		case c.digest == 0 || first[c.digest] == host:
		case first[c.digest] == 0:
			first[c.digest] = host
		case len(further[c.digest]) < x.options.MaxHosts && !slices.Contains(further[c.digest], host):
			further[c.digest] = append(further[c.digest], host)
		}
	}
	for i := range x.captures {
		if c := &x.captures[i]; c.digest > 0 && len(further[c.digest]) >= x.options.MaxHosts {
			c.digest = 0
		}
	}
}

// measureControls compares each capture with the next one of the same URL.
func (x *index) measureControls() {
	for i := 1; i < len(x.captures); i++ {
		a, b := x.captures[i-1], x.captures[i]
		if a.url != b.url || !a.usable() || !b.usable() {
			continue
		}
		d := control{pairs: 1}
		if a.digest == b.digest {
			d.same = 1
		} else {
			x.changes[b.url] = true
		}
		for _, key := range []uint64{x.cluster[b.url], hostKey(x.host[b.url])} {
			x.controls[key] = x.controls[key].plus(d)
		}
	}
}

// usable says whether a capture's content can be compared.
func (c capture) usable() bool { return c.digest > 0 && (c.status == 0 || c.status == 200) }

// hostKey is where the control of a whole host is kept.
func hostKey(host uint32) uint64 { return 0xff<<56 | uint64(host) }

// controlOf returns the control of a pair: that of the two clusters together
// or, where they were hardly fetched again, of the hosts; and the keys of what
// it is made of. ok is false if even those were fetched again too seldom.
func (x *index) controlOf(a, b uint32) (c control, of [2]uint64, ok bool) {
	of = [2]uint64{x.cluster[a], x.cluster[b]}
	if c = x.together(of); c.pairs < x.options.MinControl {
		of = [2]uint64{hostKey(x.host[a]), hostKey(x.host[b])}
		c = x.together(of)
	}
	return c, of, c.pairs >= x.options.MinControl
}

func (x *index) together(of [2]uint64) control {
	if of[0] == of[1] {
		return x.controls[of[0]]
	}
	return x.controls[of[0]].plus(x.controls[of[1]])
}

// stable returns the control of a pair, and whether it is stable.
func (x *index) stable(a, b uint32) (c control, of [2]uint64, ok bool) {
	c, of, ok = x.controlOf(a, b)
	return c, of, ok && c.share() >= x.options.StableShare
}

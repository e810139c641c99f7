package audit

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/canon"
)

// control is how often fetching a URL of a cluster again gave the same content.
type control struct{ same, pairs uint32 }

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
	host     []uint32  // number of a URL's host
	cluster  []uint32  // number of a URL's cluster: host, directory and parameter names
	changes  []bool    // of a URL: it was seen to change
	controls []control // of the clusters, then of the hosts
	hosts    table
	seed     maphash.Seed
	firsts   map[*Form][]uint32 // of the base forms
	sole     sync.Once
	soleRule []uint8 // see soleRules
}

// newIndex sorts the captures and measures the controls.
func newIndex(l *Log) (*index, error) {
	l.sort()
	x := &index{Log: l, hosts: newTable(), seed: maphash.MakeSeed(), changes: make([]bool, l.urls.len()), firsts: map[*Form][]uint32{}}
	if err := x.nameHosts(); err != nil {
		return nil, err
	}
	x.nameClusters()
	x.dropSharedDigests()
	x.measureControls()
	return x, nil
}

// nameHosts numbers the hosts.
func (x *index) nameHosts() error {
	x.host = make([]uint32, x.urls.len())
	for i := range x.host {
		id, err := x.hosts.add(string(x.hostOf(uint32(i))))
		if err != nil {
			return err
		}
		x.host[i] = id
	}
	return nil
}

func (x *index) hostOf(url uint32) []byte { return bytes.ToLower(canon.Host(x.urls.at(url))) }

// nameClusters numbers the clusters.
func (x *index) nameClusters() {
	ids := map[uint64]uint32{}
	x.cluster = make([]uint32, x.urls.len())
	for i := range x.cluster {
		hash := x.clusterHash(uint32(i))
		id, known := ids[hash]
		if !known {
			id = uint32(len(ids))
			ids[hash] = id
		}
		x.cluster[i] = id
	}
	x.controls = make([]control, len(ids)+x.hosts.len())
}

func (x *index) clusterHash(url uint32) uint64 {
	var room [256]byte
	return maphash.Bytes(x.seed, appendCluster(room[:0], x.hosts.at(x.host[url]), x.urls.at(url)))
}

// hostControl is where the control of a whole host is kept: behind those of the clusters.
func (x *index) hostControl(host uint32) uint32 {
	return uint32(len(x.controls)-x.hosts.len()) + host
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
	for url := range uint32(x.urls.len()) {
		for _, c := range x.of(url) {
			switch host := x.host[url] + 1; {
			case c.digest == 0 || first[c.digest] == host:
			case first[c.digest] == 0:
				first[c.digest] = host
			case len(further[c.digest]) < maxHosts && !slices.Contains(further[c.digest], host):
				further[c.digest] = append(further[c.digest], host)
			}
		}
	}
	for i := range x.captures {
		if c := &x.captures[i]; c.digest > 0 && len(further[c.digest]) >= maxHosts {
			c.digest = 0
		}
	}
}

// measureControls compares each capture with the next one of the same URL.
func (x *index) measureControls() {
	for url := range uint32(x.urls.len()) {
		of := x.of(url)
		for i := 1; i < len(of); i++ {
			if !of[i-1].usable() || !of[i].usable() || !x.comparable(of[i-1], of[i]) {
				continue
			}
			d := control{pairs: 1}
			if of[i-1].digest == of[i].digest {
				d.same = 1
			} else {
				x.changes[url] = true
			}
			for _, at := range []uint32{x.cluster[url], x.hostControl(x.host[url])} {
				x.controls[at] = x.controls[at].plus(d)
			}
		}
	}
}

// usable reports whether a capture's content can be compared.
func (c capture) usable() bool { return c.digest > 0 && (c.status == 0 || c.status == 200) }

// comparable reports whether the digests of two usable captures are of one algorithm.
func (x *index) comparable(c, d capture) bool {
	return c.digest == d.digest || kindOf(x.digests.at(c.digest-1)) == kindOf(x.digests.at(d.digest-1))
}

// controlOf returns the control of a pair: that of the two clusters together
// or, where they were hardly fetched again, of the hosts; and where it stands.
// ok is false if even those were fetched again too seldom.
func (x *index) controlOf(a, b uint32) (c control, of [2]uint32, ok bool) {
	of = [2]uint32{x.cluster[a], x.cluster[b]}
	if c = x.together(of); int(c.pairs) < x.minControl {
		of = [2]uint32{x.hostControl(x.host[a]), x.hostControl(x.host[b])}
		c = x.together(of)
	}
	return c, of, int(c.pairs) >= x.minControl
}

func (x *index) together(of [2]uint32) control {
	if of[0] == of[1] {
		return x.controls[of[0]]
	}
	return x.controls[of[0]].plus(x.controls[of[1]])
}

// stable returns the control of a pair, and whether it is stable.
func (x *index) stable(a, b uint32) (c control, of [2]uint32, ok bool) {
	c, of, ok = x.controlOf(a, b)
	return c, of, ok && c.share() >= stableShare
}

package audit

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/firstseen/firstseen/canon"
)

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

// nameClusters numbers the clusters that have a URL fetched more than once, from 1 on.
// The others can't be a control, and are 0.
func (x *index) nameClusters() {
	number := map[uint64]uint32{}
	x.cluster = make([]uint32, x.urls.len())
	for i := range x.cluster {
		if len(x.of(uint32(i))) < 2 {
			continue
		}
		hash := x.clusterHash(uint32(i))
		id, ok := number[hash]
		if !ok {
			id = uint32(len(number)) + 1
			number[hash] = id
		}
		x.cluster[i] = id
	}
	x.eachURL(func() func(id uint32) {
		return func(id uint32) {
			if x.cluster[id] == 0 {
				x.cluster[id] = number[x.clusterHash(id)]
			}
		}
	})
	x.controls = make([]control, 1+len(number)+x.hosts.len())
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

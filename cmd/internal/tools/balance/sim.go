package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// host is what a host brings: keys that are kept, and URLs that are offered.
type host struct{ kept, offered float64 }

// web is a set of hosts: the largest ones one by one, and the many small ones as sums.
type web struct {
	name string
	head []host
	tail float64 // URLs kept on all the others
	sq   float64 // the sum of the squares of their sizes
	load float64 // URLs offered to all the others
}

func (w *web) kept() float64 {
	sum := w.tail
	for _, h := range w.head {
		sum += h.kept
	}
	return sum
}

// headHosts is how many hosts are placed one by one.
const headHosts = 1 << 20

// zipf is a web of n URLs on the given number of hosts, the host of rank r having a
// share of r^-a; no host keeps more than bound (0: no bound). perURL is how many times each
// URL is offered, before the bound.
func zipf(name string, n float64, hosts int, a, bound, perURL float64) *web {
	w := &web{name: name}
	total := powers(1, hosts, a)
	for r := 1; r <= min(hosts, headHosts); r++ {
		size := n * math.Pow(float64(r), -a) / total
		kept := size
		if bound > 0 {
			kept = min(size, bound)
		}
		w.head = append(w.head, host{kept, size * perURL})
	}
	if hosts > headHosts {
		w.tail = n * powers(headHosts+1, hosts, a) / total
		w.sq = n * n * powers(headHosts+1, hosts, 2*a) / (total * total)
		w.load = w.tail * perURL
	}
	return w
}

// powers sums r^-a for r from first to last: the first million one by one, the
// rest as an integral.
func powers(first, last int, a float64) float64 {
	sum, r := 0.0, first
	for ; r <= last && r < first+headHosts; r++ {
		sum += math.Pow(float64(r), -a)
	}
	if r > last {
		return sum
	}
	lo, hi := float64(r)-0.5, float64(last)+0.5
	if a == 1 {
		return sum + math.Log(hi/lo)
	}
	return sum + (math.Pow(hi, 1-a)-math.Pow(lo, 1-a))/(1-a)
}

// readHosts reads lines "kept offered", and scales them to n URLs kept.
func readHosts(r io.Reader, name string, n float64) (*web, error) {
	w := &web{name: name}
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		var h host
		if _, err := fmt.Sscan(scan.Text(), &h.kept, &h.offered); err != nil {
			return nil, fmt.Errorf("cannot read host %q: %w", scan.Text(), err)
		}
		w.head = append(w.head, h)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("cannot read hosts: %w", err)
	}
	slices.SortFunc(w.head, func(a, b host) int { return int(b.kept - a.kept) })
	scale := n / w.kept()
	for i := range w.head {
		w.head[i].kept *= scale
		w.head[i].offered *= scale
	}
	return w, nil
}

// placement is where the keys of a host go.
type placement int

const (
	byHost placement = iota // all of a host in one shard
	spread                  // those of hosts greater than a share of a shard in all shards, others by host
	byKey                   // each key in a shard of its own hash
)

func (p placement) String() string {
	return [...]string{"by host", "by host, hot hosts spread", "by key"}[p]
}

// hotShare is the part of an average shard from which on a host counts as hot.
const hotShare = 0.1

// fleet is shards on nodes: shard i is on node i*nodes/shards, as when each owns a
// run of hash slots.
type fleet struct{ shards, nodes int }

// loads are the loads of shards or nodes.
type loads []float64

// worst is the largest load as a multiple of the mean.
func (l loads) worst() float64 {
	sum := 0.0
	for _, v := range l {
		sum += v
	}
	return slices.Max(l) * float64(len(l)) / sum
}

// onNodes sums shards to nodes.
func (f fleet) onNodes(shards loads) loads {
	nodes := make(loads, f.nodes)
	for i, v := range shards {
		nodes[i*f.nodes/f.shards] += v
	}
	return nodes
}

// keep places the keys of a web on shards.
func (f fleet) keep(w *web, p placement, seed uint64) loads {
	return f.place(w, p, seed, func(h host) float64 { return h.kept }, w.tail)
}

// answer places the offers at the homes of their hosts.
func (f fleet) answer(w *web, seed uint64) loads {
	return f.place(w, byHost, seed, func(h host) float64 { return h.offered }, w.load)
}

func (f fleet) place(w *web, p placement, seed uint64, size func(host) float64, tail float64) loads {
	shards := make(loads, f.shards)
	sum := tail
	for _, h := range w.head {
		sum += size(h)
	}
	mean, even := sum/float64(f.shards), 0.0
	for i, h := range w.head {
		v := size(h)
		if p == byKey || p == spread && v > hotShare*mean {
			even += v
			continue
		}
		at, _ := bits.Mul64(mix(seed+uint64(i)), uint64(f.shards))
		shards[at] += v
	}
	scatter := math.Sqrt(w.sq / float64(f.shards))
	if w.tail > 0 {
		scatter *= tail / w.tail
	}
	if p == byKey {
		scatter = 0
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range shards {
		// The tail is a sum of many small hosts, and spread keys are one of many
		// keys: both are normal around their mean.
		each := (even + tail) / float64(f.shards)
		shards[i] += max(0, each+rng.NormFloat64()*math.Hypot(scatter, math.Sqrt(each)))
	}
	return shards
}

// mix is a hash of a number (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

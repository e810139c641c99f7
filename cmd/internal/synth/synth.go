// Package synth generates webs with known truth for tests: captures with digests, of which it is known which page
// each URL leads to and by which rule it differs from the page's own URL; sites that declare something; and traps.
//
// Everything is a function of the seed and a counter; only the sizes of the hosts are kept in memory.
package synth

import (
	"fmt"
	"math"
	"sort"
)

// Options shape a web. The zero value is a small one of 10,000 hosts.
type Options struct {
	// Seed chooses the web. The default is 1.
	Seed uint64
	// Hosts is their number. The default is 10,000.
	Hosts int
	// Pages is about how many pages they have together. The default is 20 a host.
	Pages int64
	// Variant is the share of spellings that are not the page's own. The default is 0.12.
	Variant float64
	// Volatile is the share of hosts whose pages change with every fetch. The
	// default is 0.25.
	Volatile float64
	// Params is the chance of each of four further captures of a page made
	// from parameters, with one more parameter: each host has two such names that
	// change the page and two that don't. The default is 0.
	Params float64
	// Redirects is the share of hosts that answer a spelling by a fold (www, scheme,
	// final slash, index file) with a redirect to the page's own spelling, which need
	// not be the one that the fold makes. The default is 0.
	Redirects float64
	// Sections is, of the hosts where a final slash makes a difference, the share where it
	// makes none in dated directories. The default is 0.
	Sections float64
}

// What is fixed of a web.
const (
	hostExponent = 1.05  // a: the host of rank r has r^-a of the pages
	window       = 64    // hosts that are crawled at once
	quantum      = 64    // pages of one before the next has its turn
	twin         = 0.004 // of the pages: one variant is another page, beside the hosts on which a rule doesn't hold
	recapture    = 0.15  // of the captured URLs: they are captured again
)

func (o Options) withDefaults() Options {
	setInt(&o.Hosts, 10_000)
	setFloat(&o.Variant, 0.12)
	setFloat(&o.Volatile, 0.25)
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Pages == 0 {
		o.Pages = 20 * int64(o.Hosts)
	}
	return o
}

func setInt(p *int, value int) {
	if *p == 0 {
		*p = value
	}
}

func setFloat(p *float64, value float64) {
	if *p == 0 {
		*p = value
	}
}

// Web is a synthetic web. It is safe for concurrent use.
type Web struct {
	opt   Options
	size  []int64 // pages of each host, by rank
	order []int32 // hosts in the order they are crawled
	first []int64 // pages crawled before each window of hosts, and after the last
}

// New returns the web of the options, or an error that names the option that
// makes none.
func New(opt Options) (*Web, error) {
	opt = opt.withDefaults()
	if err := opt.check(); err != nil {
		return nil, err
	}
	w := &Web{opt: opt, size: hostSizes(opt), order: make([]int32, opt.Hosts)}
	for i := range w.order {
		w.order[i] = int32(i)
	}
	sort.Slice(w.order, func(i, j int) bool {
		return w.hash(tagOrder, uint64(w.order[i]), 0) < w.hash(tagOrder, uint64(w.order[j]), 0)
	})
	w.countWindows()
	return w, nil
}

func (o Options) check() error {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"hosts", o.Hosts > 0 && o.Hosts <= math.MaxInt32},
		{"pages", o.Pages > 0},
		{"variant", share(o.Variant)},
		{"volatile", share(o.Volatile)},
		{"params", share(o.Params)},
		{"redirects", share(o.Redirects)},
		{"sections", share(o.Sections)},
	} {
		if !c.ok {
			return fmt.Errorf("cannot make a web; got a value of %s that is out of range", c.name)
		}
	}
	return nil
}

func share(f float64) bool { return f >= 0 && f <= 1 }

// Pages is the number of pages of the web.
func (w *Web) Pages() int64 { return w.first[len(w.first)-1] }

func hostSizes(o Options) []int64 {
	weight, sum := make([]float64, o.Hosts), 0.0
	for i := range weight {
		weight[i] = math.Pow(float64(i+1), -hostExponent)
		sum += weight[i]
	}
	size := make([]int64, o.Hosts)
	for i := range size {
		size[i] = max(1, int64(float64(o.Pages)*weight[i]/sum))
	}
	return size
}

package frontier

import (
	"context"
	"hash/fnv"
	"math"
	"math/bits"
	"strings"
)

// probePrefix begins the discriminator of a probe; the spelling follows.
const probePrefix = "probe:"

// IsProbe reports whether a lease is of a probe: see [Options.Probe].
func (l *Lease) IsProbe() bool { return strings.HasPrefix(l.Discriminator, probePrefix) }

// addProbes queues a share of the duplicates under their own spelling. A spelling is chosen
// by its hash, so always or never, and its discriminator makes it new once.
func (f *Frontier) addProbes(ctx context.Context, offers []offer) error {
	if f.opt.Probe <= 0 {
		return nil
	}
	var urls []Link
	for i := range offers {
		o := &offers[i]
		if o.result.Status == StatusDuplicate && o.url.Discriminator == "" && drawn(o.url.URL, f.opt.Probe) {
			u := *o.url
			u.Discriminator, u.Force = probePrefix+u.URL, false
			urls = append(urls, u)
		}
	}
	if len(urls) == 0 {
		return nil
	}
	results, probes := make([]Result, len(urls)), make([]offer, len(urls))
	f.prepareAll(urls, results, probes)
	return f.addOffers(ctx, &workspace{}, probes)
}

// drawn reports whether a spelling is of the share that is probed.
func drawn(spelling string, share float64) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(spelling)) // never fails
	hi, lo := bits.Mul64(h.Sum64(), 0x9e3779b97f4a7c15)
	return share >= 1 || float64(hi^lo) < share*math.MaxUint64
}

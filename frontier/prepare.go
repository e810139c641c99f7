package frontier

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// offer is a URL on its way into the store: the answer so far, and the item
// that will be stored if it isn't refused.
type offer struct {
	url    *Link
	crawl  crawl
	result *Result
	// wantFirst is the opposite of url.SkipFirst, here since a walk over the links costs more.
	wantFirst bool
	item      store.Item
	path      uint64 // see queryTrap.pathHash
}

const (
	// parallelFrom is the batch size from which on URLs are canonicalized on
	// several cores: below it starting goroutines costs more than it saves.
	parallelFrom = 512
	chunkSize    = 256
)

// prepareAll fills in offers: canonical form, key, queue, and every refusal
// that needs no memory of other URLs.
func (f *Frontier) prepareAll(urls []Link, results []Result, offers []offer) {
	workers := min(runtime.GOMAXPROCS(0), len(urls)/chunkSize)
	if len(urls) < parallelFrom || workers < 2 {
		f.prepareChunk(urls, results, offers)
		return
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next += chunkSize
				mu.Unlock()
				if i >= len(urls) {
					return
				}
				end := min(i+chunkSize, len(urls))
				f.prepareChunk(urls[i:end], results[i:end], offers[i:end])
			}
		})
	}
	wg.Wait()
}

func (f *Frontier) prepareChunk(urls []Link, results []Result, offers []offer) {
	p := preparer{f: f}
	for i := range urls {
		o := &offers[i] // zero: see workspaces.put
		o.url, o.result, o.wantFirst = &urls[i], &results[i], !urls[i].SkipFirst
		p.prepare(o)
	}
}

// preparer prepares URLs one after another. It keeps its buffer, and the crawl of the URL before.
type preparer struct {
	f       *Frontier
	scratch []byte
	crawl   crawl // of the URL before
	named   string
	known   bool
}

func (p *preparer) prepare(o *offer) {
	if !p.resolve(o.url.Crawl) {
		o.result.refuse(ReasonCrawl)
		return
	}
	o.crawl = p.crawl
	if !p.canonicalize(o) {
		return
	}
	if reason := p.f.checkForm(o.result.Canonical, o.url); reason != "" {
		o.result.refuse(reason)
		return
	}
	p.fill(o)
	o.path = p.f.queries.pathHash(o)
	if p.f.opt.Lower != nil {
		o.item.Priority = max(o.item.Priority, 1)
		if !o.url.SkipTraps && p.f.opt.Lower(o.result.Canonical, false) {
			o.item.Priority = 0
		}
	}
}

// resolve sets p.crawl to the crawl of a name.
func (p *preparer) resolve(name string) bool {
	if !p.known || p.named != name {
		p.crawl, p.known = p.f.crawls.get(name)
		p.named = name
	}
	return p.known
}

// canonicalize fills in canonical form, queue and key.
func (p *preparer) canonicalize(o *offer) bool {
	raw, r := o.url.URL, o.result
	var err error
	if o.crawl.exact {
		p.scratch = append(p.scratch[:0], raw...)
	} else {
		p.scratch, err = p.f.profileFor(o.crawl).AppendCanonical(p.scratch[:0], view(raw))
	}
	if err == nil && len(p.scratch) == 0 {
		err = canon.ErrURL
	}
	if err != nil {
		r.refuse(Reason(canon.Code(err)))
		r.Err = err
		return false
	}
	if r.Canonical = raw; string(p.scratch) != raw {
		r.Canonical = string(p.scratch)
	}
	if r.Queue = p.queueOf(o); r.Queue == "" || len(r.Queue) > store.MaxQueueKey {
		r.refuse(ReasonQueue)
		return false
	}
	r.Key = keyOf(p.scratch, o.crawl.exact, r.Queue, o.url.Discriminator)
	return true
}

func (p *preparer) queueOf(o *offer) string {
	if o.url.Queue != "" {
		return o.url.Queue
	}
	if o.crawl.exact || o.crawl.own == nil && p.f.hostHidden || o.crawl.own != nil && hidesHost(o.crawl.own) {
		return p.f.opt.QueueBy(o.url.URL)
	}
	return p.f.opt.QueueBy(o.result.Canonical)
}

// fill makes the item of an offer that nothing speaks against.
func (p *preparer) fill(o *offer) {
	u := o.url
	o.item = store.Item{
		Key:         o.result.Key,
		Queue:       o.result.Queue,
		URL:         u.URL,
		Meta:        record{depth: u.Depth, disc: u.Discriminator, exempt: u.SkipTraps && p.f.opt.Lower != nil, meta: u.Meta}.encode(),
		Due:         u.Due,
		Priority:    min(u.Priority, store.MaxPriority),
		Force:       u.Force,
		UnicodeHost: !o.crawl.exact && p.f.profileFor(o.crawl).HasUnicodeHost(p.scratch),
	}
}

// checkForm returns the reason to refuse a URL by its form and depth, or "".
func (f *Frontier) checkForm(canonical string, u *Link) Reason {
	if f.opt.MaxDepth > 0 && u.Depth > f.opt.MaxDepth {
		return ReasonDepth
	}
	if !f.opt.Traps.Off && !u.SkipTraps {
		if reason := f.opt.Traps.check(canonical); reason != "" {
			return reason
		}
	}
	if f.excluded(canonical) {
		return ReasonExcluded
	}
	return ""
}

func (f *Frontier) excluded(canonical string) bool {
	return f.opt.Exclude != nil && f.opt.Exclude(canonical)
}

func (r *Result) refuse(reason Reason) { r.Status, r.Reason = StatusRefused, reason }

// view returns a string as bytes without a copy; canon only reads them.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

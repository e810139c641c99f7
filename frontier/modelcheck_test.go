package frontier

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// backend makes a store and can open it again.
type backend struct {
	name   string
	open   func() (store.Store, error)
	reopen func(store.Store) (store.Store, error)
}

func memBackend() backend {
	return backend{
		name: "memstore",
		open: func() (store.Store, error) {
			return memstore.New(memstore.Options{}), nil
		},
		reopen: func(s store.Store) (store.Store, error) { return s, nil },
	}
}

// pebbleBackend is pebblestore on a file system in memory: a reopened store
// has the synced data.
func pebbleBackend() backend {
	var fs vfs.FS
	open := func() (store.Store, error) {
		return pebblestore.Open("db", pebblestore.Options{FS: fs})
	}
	return backend{
		name: "pebblestore",
		open: func() (store.Store, error) {
			fs = vfs.NewMem()
			return open()
		},
		reopen: func(s store.Store) (store.Store, error) {
			if err := s.Close(); err != nil {
				return s, err
			}
			return open()
		},
	}
}

func backends() []backend { return []backend{memBackend(), pebbleBackend()} }

// TestModel runs random operations against the model on every backend.
func TestModel(t *testing.T) {
	runs, ops := tortureCount(16, 2000), 400
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			for seed := range uint64(runs) {
				synctest.Test(t, func(t *testing.T) {
					history, err := runModel(b, nil, seed, ops)
					if err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(tail(history, 30), "\n"))
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

func tail(s []string, n int) []string { return s[max(len(s)-n, 0):] }

// runModel runs one seed. A mutant, if given, stands between frontier and store.
func runModel(b backend, mutate func(store.Store) store.Store, seed uint64, ops int) (history []string, err error) {
	if mutate == nil {
		mutate = func(s store.Store) store.Store { return s }
	}
	s, err := b.open()
	if err != nil {
		return nil, err
	}
	opt, policy := modelOptions(seed)
	r := &modelRun{m: &model{policy: policy, paused: map[string]bool{}, ends: map[string]modelEnds{}}, rnd: rand.New(rand.NewPCG(seed, 1))}
	opt.Logger = onDrop(r.onDrop)
	if r.f, err = New(countTakes{mutate(s), &r.takes}, opt); err != nil {
		return nil, err
	}
	r.reopen = func(f *Frontier) (*Frontier, error) {
		if err := f.Close(); err != nil {
			return f, err
		}
		if s, err = b.reopen(s); err != nil {
			return f, err
		}
		return New(countTakes{mutate(s), &r.takes}, opt)
	}
	err = r.run(ops)
	return r.history, errors.Join(err, r.f.Close(), s.Close())
}

// mutant is a store with one defect.
type mutant struct {
	store.Store
	take      func(store.Store, store.TakeRequest) (store.Taken, error)
	add       func(items []store.Item, opt *store.AddOptions)
	added     func([]store.Verdict)
	settle    func([]store.Settlement)
	settled   func([]store.SettleStatus)
	configure func(*store.QueueChange)
}

func (m *mutant) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	if m.take != nil {
		return m.take(m.Store, req)
	}
	return m.Store.Take(ctx, req)
}

func (m *mutant) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if m.add != nil {
		m.add(items, &opt)
	}
	v, err := m.Store.Add(ctx, crawl, items, opt)
	if m.added != nil {
		m.added(v)
	}
	return v, err
}

func (m *mutant) Settle(ctx context.Context, crawl string, s []store.Settlement) ([]store.SettleStatus, error) {
	if m.settle != nil {
		m.settle(s)
	}
	answers, err := m.Store.Settle(ctx, crawl, s)
	if m.settled != nil {
		m.settled(answers)
	}
	return answers, err
}

func (m *mutant) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	if m.configure != nil {
		m.configure(&c)
	}
	return m.Store.Configure(ctx, crawl, queue, c)
}

// taking makes a defect of the request alone.
func taking(change func(*store.TakeRequest)) func() mutant {
	return func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			change(&req)
			return s.Take(bg, req)
		}}
	}
}

var mutants = []struct {
	name string
	make func() mutant
	want []string // the invariants that may catch it
}{
	{"hands a lease out twice", func() mutant {
		var last []store.Entry
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			taken, err := s.Take(bg, req)
			if len(taken.Leases) == 0 && len(last) > 0 && last[0].Expires.After(time.Now()) {
				taken.Leases = last[:1]
			}
			last = taken.Leases
			return taken, err
		}}
	}, []string{invOnce, invVerdict}},
	{"lets leases run out early", taking(func(r *store.TakeRequest) { r.Lease /= 2 }), []string{invOnce, invLost}},          // it shows in the counts first
	{"lets leases run out late", taking(func(r *store.TakeRequest) { r.Lease *= 3 }), []string{invIdle, invOrder, invLost}}, // also by the count in flight
	{"knows no delay", taking(func(r *store.TakeRequest) { r.Delay = 0 }), []string{invPolite}},
	{"knows no bound in flight", taking(func(r *store.TakeRequest) { r.MaxInFlight = 0 }), []string{invPolite}},
	{"takes twice from a queue", taking(func(r *store.TakeRequest) { r.MaxPerQueue = 2 }), []string{invPolite}},
	{"serves less than it could", taking(func(r *store.TakeRequest) { r.MaxQueues = 1 }), []string{invIdle}},
	{"says too late when to ask again", func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			taken, err := s.Take(bg, req)
			if !taken.Next.IsZero() {
				taken.Next = taken.Next.Add(time.Millisecond)
			}
			return taken, err
		}}
	}, []string{invIdle}},
	{"does not say when to ask again", func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			taken, err := s.Take(bg, req)
			taken.Next = time.Time{}
			return taken, err
		}}
	}, []string{invIdle}},
	{"starves a crawl", func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			if req.Crawl == "*" {
				req.Crawl = modelCrawls[0]
			}
			return s.Take(bg, req)
		}}
	}, []string{invIdle, invStarve}},
	{"starves a crawl while it is full", func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			first := req
			first.Crawl = modelCrawls[0]
			taken, err := s.Take(bg, first)
			if err != nil || req.Crawl != "*" || len(taken.Leases) >= req.MaxURLs {
				return taken, err
			}
			first.Crawl, first.MaxURLs = modelCrawls[1], req.MaxURLs-len(taken.Leases)
			more, err := s.Take(bg, first)
			taken.Leases = append(taken.Leases, more.Leases...)
			return taken, err
		}}
	}, []string{invStarve}},
	{"loses what it was given", func() mutant {
		var n atomic.Int64 // the crawls of a batch are added at the same time
		return mutant{add: func(items []store.Item, _ *store.AddOptions) {
			if n.Add(1)%7 == 0 {
				items[0].Queue = ""
			}
		}}
	}, []string{invLost, invVerdict}},
	{"ignores priority", func() mutant {
		return mutant{add: func(items []store.Item, _ *store.AddOptions) { items[0].Priority = 0 }}
	}, []string{invOrder}},
	{"ignores due times", func() mutant {
		return mutant{add: func(items []store.Item, _ *store.AddOptions) { items[0].Due = time.Time{} }}
	}, []string{invOrder, invPolite}},
	{"ignores caps", func() mutant {
		return mutant{add: func(_ []store.Item, opt *store.AddOptions) { opt.MaxPerQueue = 0 }}
	}, []string{invVerdict}},
	{"calls a duplicate new", func() mutant {
		return mutant{added: func(v []store.Verdict) { v[0] = store.Verdict{} }}
	}, []string{invVerdict}},
	{"hands out another spelling", func() mutant {
		return mutant{add: func(items []store.Item, _ *store.AddOptions) { items[0].URL += "#f" }}
	}, []string{invSpelling}},
	{"accepts a stale settlement", func() mutant {
		return mutant{settled: func(a []store.SettleStatus) { a[0] = store.Settled }}
	}, []string{invSettle}},
	{"settles whoever holds it", func() mutant {
		return mutant{settle: func(s []store.Settlement) { s[0].Token = 0 }}
	}, []string{invSettle}},
	{"retries at once", func() mutant {
		return mutant{settle: func(s []store.Settlement) {
			if s[0].Outcome == store.Requeue && s[0].Token != 0 {
				s[0].Due = time.Time{}
			}
		}}
	}, []string{invOrder, invPolite}},
	{"ignores Retry-After", func() mutant {
		return mutant{settle: func(s []store.Settlement) { s[0].QueueChange = nil }}
	}, []string{invPolite}},
	{"ignores blocks", func() mutant {
		return mutant{configure: func(c *store.QueueChange) { c.BlockedUntil = nil }}
	}, []string{invPolite, invIdle}},
	{"knows no weights", func() mutant {
		return mutant{configure: func(c *store.QueueChange) { c.Weight = nil }}
	}, []string{invWeights}},
	{"knows no adaptive delay", func() mutant {
		return mutant{settle: func(s []store.Settlement) {
			if c := s[0].QueueChange; c != nil {
				change := *c
				change.NotBefore = nil
				s[0].QueueChange = &change
			}
		}}
	}, []string{invPolite}},
	{"cuts a wait or a block short", func() mutant {
		return mutant{settle: func(s []store.Settlement) {
			if c := s[0].QueueChange; c != nil {
				change := *c
				change.Later = false
				s[0].QueueChange = &change
			}
		}}
	}, []string{invPolite}},
	{"takes an adaptive delay for longer", func() mutant {
		return mutant{settle: func(s []store.Settlement) {
			if c := s[0].QueueChange; c != nil && c.NotBefore != nil {
				at := c.NotBefore.Add(time.Second)
				change := *c
				change.NotBefore = &at
				s[0].QueueChange = &change
			}
		}}
	}, []string{invIdle}},
	{"forgets what was given back", func() mutant {
		return mutant{settle: func(s []store.Settlement) {
			if s[0].Outcome == store.Requeue && !s[0].NewRound {
				s[0].Meta = nil
			}
		}}
	}, []string{invExpired}},
	{"forgets what ran out", func() mutant {
		return mutant{take: func(s store.Store, req store.TakeRequest) (store.Taken, error) {
			taken, err := s.Take(bg, req)
			for i := range taken.Leases {
				taken.Leases[i].Attempts = 1
			}
			return taken, err
		}}
	}, []string{invExpired, invSpelling}},
	{"ignores pauses", func() mutant {
		return mutant{configure: func(c *store.QueueChange) { c.Paused = nil }}
	}, []string{invPolite}},
}

// TestModelCatchesMutants shows that the model test can fail, for each rule by
// the invariant that stands for it.
func TestModelCatchesMutants(t *testing.T) {
	for _, tt := range mutants {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(100) {
				var err error
				synctest.Test(t, func(t *testing.T) {
					_, err = runModel(memBackend(), func(s store.Store) store.Store {
						m := tt.make()
						m.Store = s
						return &m
					}, seed, 400)
				})
				var b *broken
				if errors.As(err, &b) {
					for _, want := range tt.want {
						if b.invariant == want {
							return
						}
					}
				} else if err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("not caught in 100 runs by any of %q", tt.want)
		})
	}
}

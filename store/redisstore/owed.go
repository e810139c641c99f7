package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
)

// maxOwed bounds the keys that a daemon remembers as owed, about 100 bytes each.
const maxOwed = 1 << 20

// debt is a key without a queue that a call recorded, or may have recorded, as new.
type debt struct {
	key     store.Key
	request requestID // of the call
	index   int       // of the key in the call
}

// owed are the debts of calls that failed: their keys were not reported as new. The daemon reports such a key as new,
// once, when it is asked again, if the failed call's kept answer proves it. Answers are kept for a while, and so are debts.
type owed struct {
	mu    sync.Mutex
	until time.Time // the kept answers expire
	keys  map[owedKey]debt
}

type owedKey struct {
	crawl string
	key   store.Key
}

func (o *owed) add(crawl string, debts []debt, kept time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = time.Now().Add(kept)
	if o.keys == nil {
		o.keys = map[owedKey]debt{}
	}
	for _, d := range debts {
		if len(o.keys) < maxOwed {
			o.keys[owedKey{crawl, d.key}] = d
		}
	}
}

func (o *owed) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().After(o.until) {
		o.keys = nil
	}
	return len(o.keys) > 0
}

func (o *owed) take(crawl string, key store.Key) (d debt, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d, ok = o.keys[owedKey{crawl, key}]
	delete(o.keys, owedKey{crawl, key})
	return d, ok
}

type claim struct {
	item int
	debt
}

// claim reports items as new whose debts still hold: their shard has the answer of the failed call, so its writes were not
// lost, and reports the same epoch now as then, so the key was not forgotten since. The shard is asked by sending the
// failed call again, without its keys.
func (o *offering) claim(ctx context.Context, claims []claim, epochs map[int]string) error {
	type failed struct {
		shard   int
		request requestID
	}
	again := map[failed]*call{}
	var calls, of []*call
	for _, c := range claims {
		o.debts = append(o.debts, c.debt)
		shard, _ := o.s.layout.ofKey(&c.key)
		f := failed{shard, c.request}
		if again[f] == nil {
			again[f] = &call{shard: shard, script: scriptOffer, id: c.request, crawl: o.crawl, blob: o.head()}
			calls = append(calls, again[f])
		}
		of = append(of, again[f])
	}
	if err := o.s.run(ctx, calls); err != nil {
		return err
	}
	for j, c := range claims {
		reply := of[j].reply
		told := len(reply) - epochLen
		if c.index < told && reply[c.index] == 'N' && reply[told:] == epochs[of[j].shard] {
			o.verdicts[c.item].Status = store.New
		}
	}
	return nil
}

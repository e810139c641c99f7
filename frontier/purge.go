package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// How queued URLs that are excluded by now are forgotten: in the background, by one goroutine, when a crawl gets a rule, and of a queue
// in which an excluded URL was taken. Taking them one by one, as they come up, was tried first: each costs the queue its delay, and the
// URLs behind them wait.
//
// Who adds a rule first records in the store that URLs of its crawl are to be forgotten, and the goroutine takes that back when they are. A
// process that ends before leaves them to the next frontier of the store, or where several share one to any of them: the record is a
// number, which grows every 5 s while somebody forgets. One that stands still is taken over, by its watcher's clock alone. If two do so at
// once, both forget, and some URLs are counted twice. There the URLs are also looked for twice: a second time when all frontiers have read the rule.

// purges are the queues, and with "" as the queue the crawls, in which excluded URLs are to be forgotten.
type purges struct {
	mu      sync.Mutex
	pending map[queueName]bool // guarded by mu; the crawl may be "*" if the queue is ""
	current queueName          // guarded by mu; the one that was taken last
	ended   chan struct{}      // guarded by mu; closed when the goroutine ends, nil if none runs
	err     error              // guarded by mu; the first since WaitExcluded returned one
}

// queueName names a queue of a crawl.
type queueName struct{ crawl, queue string }

const (
	// maxPurges bounds the queues that wait. One that found no room is met again. A crawl always finds room.
	maxPurges = 1024
	// purgeAtOnce is how many excluded URLs are forgotten in one step.
	purgeAtOnce = 1000
)

// WaitExcluded waits until the queued URLs that were excluded by rules so far are forgotten, or the context ends. Close does not wait for them: they
// are forgotten by the next frontier of the store. So are those that could not be forgotten since the last call: the error is why.
func (f *Frontier) WaitExcluded(ctx context.Context) error {
	f.purges.mu.Lock()
	ended := f.purges.ended
	f.purges.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("not all URLs that are excluded are forgotten yet: %w", ctx.Err())
		}
	}
	f.purges.mu.Lock()
	defer f.purges.mu.Unlock()
	err := f.purges.err
	f.purges.err = nil
	return err
}

// purgesStand is how often a record is read unchanged until it is taken over: for 20 s.
const purgesStand = 4

// purgeRecord is what setForgetting recorded of a crawl.
type purgeRecord struct {
	crawl  string
	number int64
}

// watchPurges reads the rules, as loadExclusions does, lets the records of crawls grow in which this frontier forgets URLs, and takes over those
// of others that stand still. It takes and returns how often each was read.
func (f *Frontier) watchPurges(ctx context.Context, before map[purgeRecord]int) (now map[purgeRecord]int, err error) {
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	unforgotten, err := f.readExclusions(ctx)
	now = make(map[purgeRecord]int)
	for crawl, number := range unforgotten {
		r := purgeRecord{crawl, number}
		now[r] = before[r] + 1
		if waits, taken := f.purges.has(queueName{crawl, ""}); !waits && !taken {
			if now[r] <= purgesStand {
				continue
			}
			f.purges.add(f, crawl, "")
		}
		err = errors.Join(err, setForgetting(ctx, f.store, crawl, number+1))
	}
	return now, err
}

// has reports whether a crawl or queue waits, and whether it was taken last.
func (p *purges) has(q queueName) (waits, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending[q], p.ended != nil && p.current == q
}

// setForgetting records whether queued URLs of a crawl, or with "*" of all, are to be forgotten: 0 for no.
func setForgetting(ctx context.Context, s store.Store, crawl string, limit int64) error {
	if err := s.Configure(ctx, OwnCrawl, ruleKey(crawl, forgetting), store.QueueChange{Limit: &limit}); err != nil {
		return fmt.Errorf("cannot record that excluded URLs of crawl %q are forgotten: %w", crawl, err)
	}
	return nil
}

// add makes a queue wait; the call of the frontier that adds it must be one that Close waits for.
func (p *purges) add(f *Frontier, crawl, queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if queue != "" && len(p.pending) >= maxPurges {
		return
	}
	p.pending[queueName{crawl, queue}] = true
	if p.ended == nil {
		p.ended = make(chan struct{})
		f.working.Go(func() {
			for q, ok := p.next(f); ok; q, ok = p.next(f) {
				p.failed(f.purge(q))
			}
		})
	}
}

// next takes a queue. If there is none, or the frontier closes, the goroutine must end.
func (p *purges) next(f *Frontier) (q queueName, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.isClosing() {
		clear(p.pending)
	}
	for q = range p.pending {
		delete(p.pending, q)
		p.current = q
		return q, true
	}
	close(p.ended)
	p.ended = nil
	return q, false
}

// failed keeps an error for WaitExcluded. The URLs that it left are forgotten when they are taken.
func (p *purges) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = cmp.Or(p.err, err)
}

func (f *Frontier) isClosing() bool { return async.Closed(f.closing) }

// purge forgets the queued URLs of a queue or crawl that are excluded, until the frontier closes.
func (f *Frontier) purge(q queueName) error {
	began := time.Now()
	err := f.purgeOnce(q)
	if q.queue != "" {
		return err
	}
	if f.poll > 0 && err == nil {
		select {
		case <-time.After(exclusionsKnown - time.Since(began)):
		case <-f.closing:
		}
		err = f.purgeOnce(q)
	}
	f.exclusions.changing.Lock() // who adds a rule has recorded it, and not yet added to pending
	defer f.exclusions.changing.Unlock()
	if waits, _ := f.purges.has(q); waits || err != nil || f.isClosing() {
		return err
	}
	return setForgetting(context.Background(), f.store, q.crawl, 0)
}

// purgeOnce goes once through a queue or crawl.
func (f *Frontier) purgeOnce(q queueName) error {
	ctx := context.Background()
	crawls, err := []string{q.crawl}, error(nil)
	if q.queue == "" { // who added a rule may have failed to read it
		if _, err := f.loadExclusions(ctx); err != nil {
			return err
		}
	}
	if q.crawl == "*" {
		crawls, err = f.Crawls(ctx)
	}
	for _, crawl := range crawls {
		if !f.isClosing() {
			err = errors.Join(err, f.purgeQueue(ctx, crawl, q.queue))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot look for URLs that are excluded: %w", err)
	}
	return nil
}

func (f *Frontier) purgeQueue(ctx context.Context, crawl, queue string) error {
	c, err := f.crawl(ctx, crawl, false)
	if err != nil {
		return err
	}
	id := f.identifier(c)
	var found []keyedURL
	for e, err := range f.store.Entries(ctx, c.stored, queue) {
		if err != nil {
			return err
		}
		if f.isClosing() {
			break
		}
		if e.State != store.Queued {
			continue
		}
		if _, ok := id.excluded(e.URL); ok {
			found = append(found, keyedURL{e.Key, e.URL})
		}
		if len(found) == purgeAtOnce {
			if _, err := f.dropExcluded(ctx, c, found); err != nil {
				return err
			}
			found = found[:0]
		}
	}
	_, err = f.dropExcluded(ctx, c, found)
	return err
}

// keyedURL is a URL of a crawl.
type keyedURL struct {
	key store.Key
	url string
}

// dropExcluded forgets those of some URLs, queued or taken by this call, that are excluded, in one step, and counts them. It
// returns their keys, in order.
func (f *Frontier) dropExcluded(ctx context.Context, c *crawl, urls []keyedURL) (forgotten []store.Key, err error) {
	keys, gone := f.excludedOf(c, urls)
	if len(keys) > 0 && f.poll > 0 { // another frontier may have taken a rule back, and what is forgotten is lost
		if _, err := f.loadExclusions(ctx); err != nil {
			return nil, err
		}
		keys, gone = f.excludedOf(c, urls)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if _, err := f.store.Forget(ctx, store.Selection{Crawl: c.stored, Keys: keys}); err != nil {
		return nil, fmt.Errorf("cannot forget URLs that are excluded: %w", err)
	}
	f.rooms.wake(c.name)
	for k, urls := range gone {
		f.noteGone(k, urls)
	}
	return keys, nil
}

// excludedOf returns the keys of those of some URLs that are excluded, and the URLs as they are counted.
func (f *Frontier) excludedOf(c *crawl, urls []keyedURL) (keys []store.Key, gone map[refusalKey][]string) {
	if len(urls) == 0 || !f.mayExclude() {
		return nil, nil
	}
	id := f.identifier(c)
	gone = make(map[refusalKey][]string)
	for _, u := range urls {
		if rule, ok := id.excluded(u.url); ok {
			k := refusalKey{crawl: c.name, reason: ReasonExcluded, dropped: true, rule: rule}
			keys, gone[k] = append(keys, u.key), append(gone[k], u.url)
		}
	}
	return keys, gone
}

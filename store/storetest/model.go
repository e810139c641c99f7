package storetest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// model is a store that is slow and simple, so that it is right: it searches lists from end to end,
// and keeps no counts and no order. It shares no code with any backend. It does not choose between
// queues; it checks the choice of the backend.
type model struct {
	keep     bool // the text of completed and dropped URLs is kept
	shards   bool // see Backend.Shards
	now      time.Time
	arrivals int
	defaults store.CrawlSettings
	crawls   map[string]*modelCrawl
}

type modelCrawl struct {
	name      string
	set       store.CrawlSettings
	urls      map[store.Key]*modelURL
	queues    map[string]*modelQueue
	overtaken map[store.Key]*overtaken
	passed    bool                   // the queue served last was not urgent, although one waited
	marks     map[store.Key]*uint32  // the spelling that failed
	by        map[string]*modelQueue // of each group the queue that was served last
}

// overtaken is a lease whose URL was settled by an earlier one.
type overtaken struct {
	queue   string
	token   uint64
	expires time.Time
}

type modelQueue struct {
	name      string
	set       store.QueueSettings
	lastTake  time.Time
	lastDelay time.Duration
	notBefore time.Time
	completed int64
	dropped   int64
	fetched   int64
	failed    int64
}

// modelURL is the state of a key. With state SeenOnly the rest of the entry has no meaning.
type modelURL struct {
	store.Entry
	earlier []uint64 // tokens of the round, the oldest first
	arrival int
	waits   bool // queued, and due when its overtaken lease ends
	seen    time.Time
}

func newModel(keep bool, now time.Time) *model {
	return &model{keep: keep, now: now, crawls: map[string]*modelCrawl{}}
}

func (m *model) crawl(name string) *modelCrawl {
	if m.crawls[name] == nil {
		m.crawls[name] = &modelCrawl{name: name, urls: map[store.Key]*modelURL{}, queues: map[string]*modelQueue{},
			overtaken: map[store.Key]*overtaken{}, marks: map[store.Key]*uint32{}, by: map[string]*modelQueue{}}
	}
	return m.crawls[name]
}

func (c *modelCrawl) queue(name string) *modelQueue {
	if c.queues[name] == nil {
		c.queues[name] = &modelQueue{name: name}
	}
	return c.queues[name]
}

func (u *modelURL) held() bool { return u.State == store.Queued || u.State == store.Leased }

func (u *modelURL) ended() bool { return u.State == store.Done || u.State == store.Dropped }

// used reports whether a queue holds or has counted anything.
func (c *modelCrawl) used(q *modelQueue) bool {
	return q.counted() || len(c.held(q.name)) > 0
}

func (q *modelQueue) counted() bool { return q.completed+q.dropped+q.fetched+q.failed > 0 }

// held lists the held URLs of a queue, or of the crawl with queue "".
func (c *modelCrawl) held(queue string) (list []*modelURL) {
	for _, u := range c.urls {
		if u.held() && (queue == "" || u.Queue == queue) {
			list = append(list, u)
		}
	}
	return list
}

// live counts the leases of a queue that did not run out, overtaken ones too.
func (m *model) live(c *modelCrawl, queue string) (n int) {
	for _, o := range c.overtaken {
		if o.expires.After(m.now) && (queue == "" || o.queue == queue) {
			n++
		}
	}
	for _, u := range c.held(queue) {
		if u.State == store.Leased && u.Expires.After(m.now) {
			n++
		}
	}
	return n
}

// add is Add of one item.
func (m *model) add(crawl string, it store.Item, opt store.AddOptions) store.Verdict {
	c := m.crawl(crawl)
	u := c.urls[it.Key]
	var v store.Verdict
	respelled := false
	if u != nil {
		v.Status = store.Duplicate
		if opt.WantFirst && u.State != store.SeenOnly {
			v.First = u.URL
		}
		failed := c.marks[it.Key]
		respelled = !it.Force && it.Variant && failed != nil && *failed != store.Spelling(it.URL)
		lapsed := u.ended() && !it.EndedBefore.IsZero() && u.Ended.Before(it.EndedBefore)
		if again := it.Force || respelled || lapsed; !again || u.held() {
			if !again && u.State == store.SeenOnly && !it.EndedBefore.IsZero() && it.Queue != "" && !m.keep {
				v.Status = store.Undated
			}
			return v
		}
	}
	if it.Queue != "" && (opt.MaxHeld > 0 && int64(len(c.held(""))) >= opt.MaxHeld ||
		opt.MaxPerQueue > 0 && int64(len(c.held(it.Queue))) >= opt.MaxPerQueue) {
		v.Status = store.Full
		return v
	}
	if u == nil {
		u = m.see(c, it.Key)
	}
	if it.Queue == "" {
		return v
	}
	v.Requeued = v.Status == store.Duplicate
	m.unend(c, u)
	m.anew(c, u)
	u.URL, u.Meta, u.Priority, u.Respelled = it.URL, it.Meta, it.Priority, respelled
	m.enqueue(c, u, it.Queue, it.Due)
	return v
}

func (m *model) see(c *modelCrawl, key store.Key) *modelURL {
	u := &modelURL{Entry: store.Entry{Key: key, Crawl: c.name}, seen: m.now}
	c.urls[key] = u
	return u
}

// anew begins a new round of a URL that is not held.
func (m *model) anew(c *modelCrawl, u *modelURL) {
	u.Attempts, u.earlier, u.Ended = 0, nil, time.Time{}
	delete(c.marks, u.Key)
	delete(c.overtaken, u.Key)
}

// unend takes back that a URL ended. One that was only seen gets a text now.
func (m *model) unend(c *modelCrawl, u *modelURL) {
	switch u.State {
	case store.SeenOnly:
		u.Created = m.now
	case store.Done:
		c.queue(u.Queue).completed--
	case store.Dropped:
		c.queue(u.Queue).dropped--
	}
}

func (u *modelURL) unlease() {
	u.Expires, u.Leased, u.Client, u.Token = time.Time{}, time.Time{}, "", 0
}

func (m *model) enqueue(c *modelCrawl, u *modelURL, queue string, due time.Time) {
	if due.IsZero() {
		due = m.now
	}
	m.arrivals++
	u.State, u.Queue, u.Due, u.arrival, u.waits = store.Queued, queue, due, m.arrivals, false
	c.queue(queue)
}

// free queues the URLs of all leases again, in new rounds of one attempt less.
func (m *model) free() {
	by := map[uint64]func(){}
	for _, c := range m.crawls {
		for key, o := range c.overtaken {
			if u := c.urls[key]; u != nil && u.State == store.Queued && u.waits {
				by[o.token] = func() { m.enqueue(c, u, u.Queue, time.Time{}) }
			}
		}
		clear(c.overtaken)
		for _, u := range c.urls {
			if u.State == store.Leased {
				by[u.Token] = func() {
					u.earlier, u.Attempts = nil, max(u.Attempts, 1)-1
					u.unlease()
					m.enqueue(c, u, u.Queue, time.Time{})
				}
			}
		}
	}
	for _, token := range slices.Sorted(maps.Keys(by)) {
		by[token]()
	}
}

// settle is Settle of one settlement.
func (m *model) settle(crawl string, s store.Settlement) store.SettleStatus {
	var u *modelURL
	var over *overtaken
	if c := m.crawls[crawl]; c != nil {
		u, over = c.urls[s.Key], c.overtaken[s.Key]
		if over != nil && !over.expires.After(m.now) {
			delete(c.overtaken, s.Key)
			over = nil
		}
	}
	if over != nil && over.token == s.Token {
		if s.Outcome == store.Extend {
			return store.AlreadyDone
		}
		c := m.crawls[crawl]
		delete(c.overtaken, s.Key)
		if u != nil && u.State == store.Queued && u.waits {
			m.enqueue(c, u, u.Queue, m.now)
		}
		return store.AlreadyDone
	}
	answer := m.answer(u, s)
	if answer != store.Settled && answer != store.Created {
		return answer
	}
	if u != nil && u.State == store.SeenOnly && (!s.Create || !m.keep && s.Outcome != store.Requeue) {
		return answer
	}
	c := m.crawl(crawl)
	if u != nil && u.State == store.Done && s.Outcome == store.Complete {
		if !s.Ended.IsZero() {
			u.Ended = m.ended(s, u.Ended)
		}
		m.configure(c.queue(u.Queue), s.QueueChange)
		return answer
	}
	if u == nil {
		u = m.see(c, s.Key)
	}
	if u.State == store.SeenOnly {
		u.URL, u.Meta, u.Priority, u.Queue, u.Respelled = s.URL, s.Meta, 0, s.Queue, false
	}
	was := u.Ended
	m.endLease(c, u, s)
	m.change(u, s)
	q := c.queue(u.Queue)
	m.outcome(c, u, s, was)
	m.configure(q, s.QueueChange)
	return answer
}

// endLease does what a settlement means for the lease of a URL and for its round.
func (m *model) endLease(c *modelCrawl, u *modelURL, s store.Settlement) {
	switch {
	case s.Outcome == store.Extend:
	case u.State == store.Leased:
		if s.Token == 0 {
			delete(c.overtaken, u.Key)
		}
		if s.Token != 0 && s.Token != u.Token && u.Expires.After(m.now) {
			c.overtaken[u.Key] = &overtaken{u.Queue, u.Token, u.Expires}
		}
		if s.Outcome != store.Complete || s.Token != u.Token {
			u.earlier = append(u.earlier, u.Token)
		}
	case u.State == store.Queued:
		if s.Token == 0 {
			delete(c.overtaken, u.Key)
		}
	default:
		m.anew(c, u)
	}
}

// answer reads the table and the rules of tokens of the package comment of store.
func (m *model) answer(u *modelURL, s store.Settlement) store.SettleStatus {
	switch {
	case s.Token != 0 && (u == nil || u.State == store.SeenOnly):
		return store.Stale
	case s.Token != 0 && (u.State != store.Leased || u.Token != s.Token):
		if !s.Late || !slices.Contains(u.earlier[max(0, len(u.earlier)-15):], s.Token) {
			return store.Stale
		}
		if u.State == store.Done {
			return store.AlreadyDone
		}
		return store.Settled
	case u == nil && s.Create:
		return store.Created
	case u == nil:
		return store.Unknown
	case s.Outcome == store.Extend && u.State == store.Queued, s.If != store.SeenOnly && u.State != s.If:
		return store.Stale
	case u.held(), s.Outcome == store.Complete:
		return store.Settled
	case u.ended() && s.Outcome == store.Requeue:
		return store.Settled
	case u.State == store.SeenOnly && s.Create:
		return store.Settled
	}
	return store.Unknown
}

func (m *model) change(u *modelURL, s store.Settlement) {
	if s.URL != "" && !s.Create {
		u.URL = s.URL
	}
	if s.Meta != nil {
		u.Meta = s.Meta
	}
	if s.Priority != nil {
		u.Priority = *s.Priority
	}
	if s.NewRound {
		u.Attempts, u.earlier = 0, nil
	}
}

// due is the time that a settlement names.
func (m *model) due(s store.Settlement) time.Time {
	switch {
	case s.After > 0:
		return m.now.Add(s.After)
	case s.Due.IsZero():
		return m.now
	}
	return s.Due
}

// ended is when a URL ended that a settlement completes or drops: not before it ended already.
func (m *model) ended(s store.Settlement, was time.Time) time.Time {
	at := m.now
	if !s.Ended.IsZero() && s.Ended.Before(m.now) {
		at = s.Ended
	}
	if was.After(at) {
		return was
	}
	return at
}

func (m *model) outcome(c *modelCrawl, u *modelURL, s store.Settlement, was time.Time) {
	if s.Outcome == store.Extend {
		u.Expires, u.Leased = m.due(s), m.now
		return
	}
	m.unend(c, u)
	u.unlease()
	q := c.queue(u.Queue)
	if q.fetched += one(s.Fetched); s.Fetched && c.set.Retention > 0 {
		u.seen = m.now
	}
	q.failed += one(s.Failed)
	if s.Mark != 0 && !u.Respelled {
		c.marks[u.Key] = &s.Mark
	}
	switch s.Outcome {
	case store.Requeue:
		due := m.due(s)
		o := c.overtaken[u.Key] // whose fetcher is still at the page
		waits := o != nil && !due.After(m.now)
		if waits {
			due = o.expires
		} else if o != nil && !due.After(o.expires) {
			due = o.expires.Add(time.Millisecond)
		}
		m.enqueue(c, u, u.Queue, due)
		u.waits = waits
		return
	case store.Complete:
		u.State = store.Done
		q.completed++
	case store.Drop:
		u.State = store.Dropped
		q.dropped++
	}
	u.Due, u.Ended = time.Time{}, m.ended(s, was)
	if !m.keep {
		u.State = store.SeenOnly
	}
}

func (m *model) configure(q *modelQueue, ch *store.QueueChange) {
	if ch == nil {
		return
	}
	changeSettings(&q.set, *ch)
	if ch.NotBefore != nil {
		q.notBefore = moved(q.notBefore, *ch.NotBefore, ch.Later)
	}
}

func moved(from, to time.Time, later bool) time.Time {
	if later && from.After(to) {
		return from
	}
	return to
}

func changeCrawl(s *store.CrawlSettings, ch store.QueueChange) {
	changeSettings(&s.QueueSettings, ch)
	if ch.QueueLimit != nil {
		s.QueueLimit = *ch.QueueLimit
	}
	if ch.Retention != nil {
		s.Retention = *ch.Retention
	}
}

func changeSettings(s *store.QueueSettings, ch store.QueueChange) {
	if ch.Delay != nil {
		s.Delay = *ch.Delay
	}
	if ch.MaxInFlight != nil {
		s.MaxInFlight = *ch.MaxInFlight
	}
	if ch.BlockedUntil != nil {
		s.BlockedUntil = moved(s.BlockedUntil, *ch.BlockedUntil, ch.Later)
	}
	if ch.Limit != nil {
		s.Limit = *ch.Limit
	}
	if ch.Weight != nil {
		s.Weight = *ch.Weight
	}
	if ch.Paused != nil {
		s.Paused = *ch.Paused
	}
	if ch.Group != nil {
		s.Group = *ch.Group
	}
}

// forget is Forget of one crawl.
func (m *model) forget(c *modelCrawl, sel store.Selection) (removed int64) {
	byAge := !sel.Before.IsZero()
	all := sel.Keys == nil && sel.Queue == "" && !byAge
	for key, u := range c.urls {
		if all || slices.Contains(sel.Keys, key) ||
			sel.Queue != "" && u.State != store.SeenOnly && u.Queue == sel.Queue ||
			byAge && !u.held() && u.seen.Before(sel.Before) {
			if !byAge {
				m.unend(c, u)
				m.anew(c, u)
			}
			delete(c.urls, key)
			removed++
		}
	}
	if q := c.queues[sel.Queue]; q != nil {
		q.completed, q.dropped, q.fetched, q.failed = 0, 0, 0, 0
		for key, o := range c.overtaken {
			if o.queue == q.name {
				delete(c.overtaken, key)
			}
		}
	}
	if all {
		delete(m.crawls, c.name)
	}
	return removed
}

// entry is Lookup of a known URL.
func (u *modelURL) entry() store.Entry {
	if u.State == store.SeenOnly {
		return store.Entry{Key: u.Key, Crawl: u.Crawl}
	}
	return u.Entry
}

// entries is Entries of one queue, or of all with queue "".
func (c *modelCrawl) entries(queue string) []store.Entry {
	var list []*modelURL
	for _, u := range c.urls {
		if u.State != store.SeenOnly && (queue == "" || u.Queue == queue) {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, compareListed)
	var out []store.Entry
	for _, u := range list {
		out = append(out, u.entry())
	}
	return out
}

// compareListed orders as Entries does.
func compareListed(a, b *modelURL) int {
	place := map[store.State]int{store.Done: 1, store.Dropped: 1, store.Leased: 2, store.Queued: 3}
	if n := cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(place[a.State], place[b.State])); n != 0 {
		return n
	}
	switch a.State {
	case store.Leased:
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Token, b.Token))
	case store.Queued:
		return compareService(a, b)
	}
	return bytes.Compare(a.Key[:], b.Key[:])
}

// compareService orders queued URLs that are due.
func compareService(a, b *modelURL) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Due.Compare(b.Due), cmp.Compare(a.arrival, b.arrival))
}

// stats is Stats of one crawl.
func (m *model) stats(c *modelCrawl) (s store.Stats) {
	s.Seen, s.Marked = int64(len(c.urls)), int64(len(c.marks))
	held, live := map[string]int64{}, map[string]int64{} // by queue, counted once for all: most of a history's time was lists of each queue
	for _, u := range c.urls {
		if u.held() {
			held[u.Queue]++
			live[u.Queue] += one(u.State == store.Leased && u.Expires.After(m.now))
		}
	}
	for _, o := range c.overtaken {
		live[o.queue] += one(o.expires.After(m.now))
	}
	for _, q := range c.queues {
		s.Held += held[q.name]
		s.InFlight += live[q.name]
		s.Completed += q.completed
		s.Dropped += q.dropped
		s.Fetched += q.fetched
		s.Failed += q.failed
		s.Queues += one(held[q.name] > 0 || q.counted())
		s.Active += one(held[q.name] > 0)
	}
	return s
}

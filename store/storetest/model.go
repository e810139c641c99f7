package storetest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// model is a store that is too slow and too plain to be wrong: lists that are
// searched from end to end, nothing counted, nothing ordered beforehand. It
// shares no code with any backend. It doesn't choose between queues, which is
// the backend's to do; it judges what was chosen.
type model struct {
	keep     bool // the text of completed URLs is kept
	now      time.Time
	arrivals int
	defaults store.QueueSettings
	crawls   map[string]*modelCrawl
}

type modelCrawl struct {
	name   string
	set    store.QueueSettings
	urls   map[store.Key]*modelURL
	queues map[string]*modelQueue
}

type modelQueue struct {
	name      string
	set       store.QueueSettings
	lastTake  time.Time
	lastDelay time.Duration
	notBefore time.Time
}

type modelURL struct {
	store.Entry
	done    bool // completed, also when the text is gone
	text    bool
	token   uint64
	arrival int
	seen    time.Time
}

func newModel(keep bool, now time.Time) *model {
	return &model{keep: keep, now: now, crawls: map[string]*modelCrawl{}}
}

func (m *model) crawl(name string) *modelCrawl {
	if m.crawls[name] == nil {
		m.crawls[name] = &modelCrawl{name: name, urls: map[store.Key]*modelURL{}, queues: map[string]*modelQueue{}}
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

// held lists the held URLs of a queue, or of the crawl with queue "".
func (c *modelCrawl) held(queue string) (list []*modelURL) {
	for _, u := range c.urls {
		if u.held() && (queue == "" || u.Queue == queue) {
			list = append(list, u)
		}
	}
	return list
}

func (c *modelCrawl) completed(queue string) (n int64) {
	for _, u := range c.urls {
		if u.done && (queue == "" || u.Queue == queue) {
			n++
		}
	}
	return n
}

// live counts the leases of a queue that did not run out.
func (m *model) live(c *modelCrawl, queue string) (n int) {
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
	if u != nil {
		v.Status = store.Duplicate
		if opt.WantFirst {
			v.First = u.URL
		}
		if !it.Force || u.held() {
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
	m.keepText(u)
	u.URL, u.Meta, u.Priority, u.Attempts = it.URL, it.Meta, it.Priority, 0
	m.enqueue(c, u, it.Queue, it.Due)
	return v
}

func (m *model) see(c *modelCrawl, key store.Key) *modelURL {
	u := &modelURL{Entry: store.Entry{Key: key, Crawl: c.name}, seen: m.now}
	c.urls[key] = u
	return u
}

// keepText begins to keep the text of a URL, if it isn't kept.
func (m *model) keepText(u *modelURL) {
	if !u.text {
		u.text, u.Created = true, m.now
	}
}

func (m *model) enqueue(c *modelCrawl, u *modelURL, queue string, due time.Time) {
	if due.IsZero() {
		due = m.now
	}
	m.arrivals++
	u.State, u.done, u.text = store.Queued, false, true
	u.Queue, u.Due, u.arrival = queue, due, m.arrivals
	c.queue(queue)
}

// settle is Settle of one settlement.
func (m *model) settle(crawl string, s store.Settlement) store.SettleStatus {
	var u *modelURL
	if c := m.crawls[crawl]; c != nil {
		u = c.urls[s.Key]
	}
	answer := m.answer(u, s)
	if answer == store.Unknown || answer == store.Stale {
		return answer
	}
	c := m.crawl(crawl)
	switch {
	case u == nil:
		u = m.see(c, s.Key)
		m.make(u, s)
	case !u.held() && !(u.done && s.Outcome == store.Complete) && !(u.text && s.Outcome == store.Requeue):
		m.make(u, s)
	case u.done && s.Outcome == store.Complete:
		m.configure(c.queue(u.Queue), s.QueueChange)
		return answer
	}
	m.change(u, s)
	m.outcome(c, u, s)
	m.configure(c.queue(u.Queue), s.QueueChange)
	return answer
}

func (m *model) answer(u *modelURL, s store.Settlement) store.SettleStatus {
	switch {
	case u == nil && s.Create:
		return store.Created
	case u == nil:
		return store.Unknown
	case s.Token != 0 && (u.State != store.Leased || u.token != s.Token):
		return store.Stale
	case s.Outcome == store.Extend && u.State == store.Queued:
		return store.Stale
	case u.held(), s.Create:
		return store.Settled
	case s.Outcome == store.Complete && u.done, s.Outcome == store.Requeue && u.done && u.text:
		return store.Settled
	}
	return store.Unknown
}

// make fills a URL from a settlement that creates it.
func (m *model) make(u *modelURL, s store.Settlement) {
	m.keepText(u)
	u.URL, u.Meta, u.Priority, u.Attempts, u.Queue = s.URL, s.Meta, 0, 0, s.Queue
}

func (m *model) change(u *modelURL, s store.Settlement) {
	if s.URL != "" {
		u.URL = s.URL
	}
	if s.Meta != nil {
		u.Meta = s.Meta
	}
	if s.Priority != nil {
		u.Priority = *s.Priority
	}
	if s.ResetAttempts || u.done {
		u.Attempts = 0
	}
}

func (m *model) outcome(c *modelCrawl, u *modelURL, s store.Settlement) {
	switch s.Outcome {
	case store.Extend:
		u.Expires = s.Due
		if s.Due.IsZero() {
			u.Expires = m.now
		}
		return
	case store.Requeue:
		m.enqueue(c, u, u.Queue, s.Due)
	case store.Complete:
		u.State, u.done, u.text = store.Done, true, m.keep
		u.Due = time.Time{}
		c.queue(u.Queue)
	case store.Drop:
		u.State, u.text = store.SeenOnly, false
	}
	u.Expires, u.token = time.Time{}, 0
	if !u.text {
		u.State, u.URL, u.Meta = store.SeenOnly, "", nil
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
}

// forget is Forget of one crawl.
func (m *model) forget(c *modelCrawl, sel store.Selection) (gone int64) {
	all := sel.Keys == nil && sel.Queue == "" && sel.Before.IsZero()
	for key, u := range c.urls {
		if all || slices.Contains(sel.Keys, key) ||
			sel.Queue != "" && u.text && u.Queue == sel.Queue ||
			!sel.Before.IsZero() && !u.held() && u.seen.Before(sel.Before) {
			delete(c.urls, key)
			gone++
		}
	}
	if all {
		delete(m.crawls, c.name)
	}
	return gone
}

// entry is Lookup of a known URL.
func (u *modelURL) entry() store.Entry {
	if !u.text {
		return store.Entry{Key: u.Key, Crawl: u.Crawl}
	}
	return u.Entry
}

// entries is Entries of one queue, or of all with queue "".
func (c *modelCrawl) entries(queue string) []store.Entry {
	var list []*modelURL
	for _, u := range c.urls {
		if u.text && (queue == "" || u.Queue == queue) {
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
	place := map[store.State]int{store.Leased: 1, store.Queued: 2, store.Done: 3}
	if n := cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(place[a.State], place[b.State])); n != 0 {
		return n
	}
	switch a.State {
	case store.Leased:
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.token, b.token))
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
func (c *modelCrawl) stats() (s store.Stats) {
	s.Seen = int64(len(c.urls))
	s.Completed = c.completed("")
	any, holding := map[string]bool{}, map[string]bool{}
	for _, u := range c.urls {
		if u.held() {
			s.Held++
			holding[u.Queue] = true
		}
		if u.State == store.Leased {
			s.InFlight++
		}
		if u.held() || u.done {
			any[u.Queue] = true
		}
	}
	s.Queues, s.Active = int64(len(any)), int64(len(holding))
	return s
}

package server

import (
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestQueueStateOf asserts the state of a queue for each bound alone and for several.
func TestQueueStateOf(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	soon, ago := now.Add(time.Minute), now.Add(-time.Minute)
	held := store.QueueInfo{Held: 2, Next: ago}
	one := QueueDefaults{MaxInFlight: 1, Delay: 2 * time.Minute}
	with := func(f func(*store.QueueInfo)) store.QueueInfo {
		q := held
		f(&q)
		return q
	}
	for _, c := range []struct {
		what   string
		q      store.QueueInfo
		d      QueueDefaults
		state  string
		reason string
		next   time.Time
	}{
		{"nothing", store.QueueInfo{}, one, stateEmpty, "", time.Time{}},
		{"due", held, one, stateReady, "", time.Time{}},
		{"the only lease allowed is out, another URL is due", with(func(q *store.QueueInfo) { q.InFlight = 1 }), one, stateInFlight, "1 leased, of at most 1 by the default", time.Time{}},
		{"a bound of its own", with(func(q *store.QueueInfo) { q.InFlight, q.MaxInFlight = 1, 2 }), one, stateReady, "", time.Time{}},
		{"that is reached", with(func(q *store.QueueInfo) { q.Held, q.InFlight, q.MaxInFlight = 3, 2, 2 }), one, stateInFlight, "by the queue", time.Time{}},
		{"no bound", with(func(q *store.QueueInfo) { q.InFlight, q.MaxInFlight = 1, -1 }), one, stateReady, "", time.Time{}},
		{"all leased", with(func(q *store.QueueInfo) { q.InFlight = 2; q.Next = time.Time{} }), QueueDefaults{}, stateInFlight, "all its URLs", time.Time{}},
		{"due later", with(func(q *store.QueueInfo) { q.Next = soon }), one, stateDelayed, "due at 2026-01-31T12:01:00Z", soon},
		{"within its delay", with(func(q *store.QueueInfo) { q.Next, q.LastTake = soon, ago }), one, stateDelayed, "a delay of 2m0s by the default", soon},
		{"within a delay of its own", with(func(q *store.QueueInfo) { q.Next, q.LastTake, q.Delay = soon, ago, 3*time.Minute }), one, stateDelayed, "by the queue", soon},
		{"as many leases of its group as its bound", with(func(q *store.QueueInfo) { q.Group, q.GroupInFlight = "g", 1 }), one, stateInFlight, `1 leased of its group "g", of at most 1 by the default`, time.Time{}},
		{"fewer", with(func(q *store.QueueInfo) { q.Group, q.GroupInFlight, q.MaxInFlight = "g", 1, 2 }), one, stateReady, "", time.Time{}},
		{"within the delay of its group", with(func(q *store.QueueInfo) {
			q.Group, q.Next, q.GroupNotBefore, q.LastTake = "g", soon, soon, now.Add(-time.Hour)
		}), one, stateDelayed, `another queue of its group "g", until 2026-01-31T12:01:00Z`, soon},
		{"after its own turn in a group", with(func(q *store.QueueInfo) { q.Group, q.Next, q.GroupNotBefore, q.LastTake = "g", soon, soon, ago }), one, stateDelayed, "a delay of 2m0s by the default", soon},
		{"blocked", with(func(q *store.QueueInfo) { q.BlockedUntil = soon }), one, stateBlocked, "2026-01-31T12:01:00Z", soon},
		{"a block that is over", with(func(q *store.QueueInfo) { q.BlockedUntil = ago }), one, stateReady, "", time.Time{}},
		{"its limit", with(func(q *store.QueueInfo) { q.Limit, q.Fetched = 5, 5 }), one, stateLimited, "limit of 5", time.Time{}},
		{"its limit is reserved by leases", with(func(q *store.QueueInfo) { q.Limit, q.Fetched, q.InFlight, q.MaxInFlight = 5, 4, 1, -1 }), one, stateInFlight, "4 pages fetched and 1 leased, of a limit of 5", time.Time{}},
		{"that of its crawl is, by others", held, QueueDefaults{Crawl: store.CrawlSettings{QueueSettings: store.QueueSettings{Limit: 5}}, Fetched: 3, InFlight: 2}, stateInFlight, "3 pages of the crawl fetched and 2 leased, of a limit of 5", time.Time{}},
		{"below that of its crawl", held, QueueDefaults{Crawl: store.CrawlSettings{QueueSettings: store.QueueSettings{Limit: 5}}, Fetched: 3, InFlight: 1}, stateReady, "", time.Time{}},
		{"below its limit", with(func(q *store.QueueInfo) { q.Limit, q.Fetched = 5, 4 }), one, stateReady, "", time.Time{}},
		{"paused and blocked", with(func(q *store.QueueInfo) { q.Paused, q.BlockedUntil = true, soon }), one, statePaused, "the queue is paused", time.Time{}},
		{"all paused", held, QueueDefaults{Paused: true}, statePaused, "all queues", time.Time{}},
		{"empty and blocked", store.QueueInfo{QueueSettings: store.QueueSettings{BlockedUntil: soon}}, one, stateBlocked, "until", soon},
	} {
		got := queueStateOf(&c.q, c.d, now)
		if got.Name != c.state || !strings.Contains(got.Reason, c.reason) || (c.reason == "") != (got.Reason == "") || !got.Next.Equal(c.next) {
			t.Errorf("%s: got %+v; want %s, %q, %v", c.what, got, c.state, c.reason, c.next)
		}
	}
}

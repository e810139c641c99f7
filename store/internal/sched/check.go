package sched

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// The checks of arguments that all backends share, and their times: whole milliseconds in 47 bits.

// maxCrawlName is the maximum length of the name of a crawl, in bytes.
const maxCrawlName = 255

// AnyCrawl is the name that means all crawls.
const AnyCrawl = "*"

// CrawlName returns the name of one crawl with the default filled in.
func CrawlName(name string) (string, error) {
	if name == AnyCrawl {
		return "", fault.As(store.ErrInvalid, "cannot use crawl name; got %q; want one crawl", name)
	}
	return CrawlNames(name)
}

// CrawlNames is [CrawlName] where [AnyCrawl] is allowed.
func CrawlNames(name string) (string, error) {
	if len(name) > maxCrawlName {
		return "", fault.As(store.ErrInvalid, "cannot use crawl name; got %d bytes; want at most %d", len(name), maxCrawlName)
	}
	if name == "" {
		return store.DefaultCrawl, nil
	}
	return name, nil
}

func checkQueue(name string) error {
	if len(name) > store.MaxQueueKey {
		return fault.As(store.ErrInvalid, "cannot use queue key; got %d bytes; want at most %d", len(name), store.MaxQueueKey)
	}
	return nil
}

func checkPriority(p *uint8) error {
	if p != nil && *p > store.MaxPriority {
		return fault.As(store.ErrInvalid, "cannot use priority; got %d; want at most %d", *p, store.MaxPriority)
	}
	return nil
}

// CheckItems returns [store.ErrInvalid] if an item can't be stored.
func CheckItems(items []store.Item) error {
	for i := range items {
		err := checkQueue(items[i].Queue)
		if err == nil {
			err = checkPriority(&items[i].Priority)
		}
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

// Undated reports whether an item asks when a URL ended that is known in this state, and the store, if it does not keep texts, can't tell.
func Undated(it *store.Item, state store.State, keep bool) bool {
	return !keep && it.Queue != "" && !it.EndedBefore.IsZero() && state == store.SeenOnly
}

// EndedBefore reports whether an item's EndedBefore queues a URL in this state that ended then.
func EndedBefore(it *store.Item, state store.State, ended int64) bool {
	return !it.EndedBefore.IsZero() && (state == store.Done || state == store.Dropped) && ended < Now(it.EndedBefore)
}

// CheckSettlements is [CheckItems] for settlements.
func CheckSettlements(list []store.Settlement) error {
	for i := range list {
		if err := checkSettlement(&list[i]); err != nil {
			return fmt.Errorf("settlement %d: %w", i, err)
		}
	}
	return nil
}

func checkSettlement(s *store.Settlement) error {
	switch ends := s.Outcome == store.Complete || s.Outcome == store.Requeue; {
	case s.Outcome > store.Extend:
		return fault.As(store.ErrInvalid, "cannot settle; got outcome %d; want at most %d", s.Outcome, store.Extend)
	case s.After < 0:
		return fault.As(store.ErrInvalid, "cannot settle; got After %v; want none below 0", s.After)
	case s.Create && (s.Token != 0 || s.Queue == "" || s.Outcome == store.Extend):
		return fault.As(store.ErrInvalid, "cannot create by settlement; want token 0, a queue, outcome complete, requeue or drop")
	case s.Late && s.Outcome != store.Complete && (s.Outcome != store.Requeue || !s.NewRound):
		return fault.As(store.ErrInvalid, "cannot settle late with outcome %d; want complete, or requeue in a new round", s.Outcome)
	case !s.Ended.IsZero() && s.Outcome != store.Complete && s.Outcome != store.Drop:
		return fault.As(store.ErrInvalid, "cannot settle with Ended and outcome %d; want complete or drop", s.Outcome)
	case s.Fetched && !ends || (s.Failed || s.Mark != 0) && s.Outcome != store.Drop:
		return fault.As(store.ErrInvalid, "cannot settle; got fetched %v, failed %v, mark %d with outcome %d; want fetched with complete or requeue, the others with drop",
			s.Fetched, s.Failed, s.Mark, s.Outcome)
	case s.If != store.SeenOnly && (s.Token != 0 || s.Create) || s.If > store.Dropped:
		return fault.As(store.ErrInvalid, "cannot settle if the URL is in state %d with a token, or create it; want a state that a URL with a text has", s.If)
	}
	return cmp.Or(checkPriority(s.Priority), checkChange(s.QueueChange, true), checkQueue(s.Queue))
}

// checkChange checks a change of a queue, or of a crawl or the store.
func checkChange(c *store.QueueChange, queue bool) error {
	switch {
	case c == nil:
	case c.Group != nil && !queue:
		return fault.As(store.ErrInvalid, "cannot set the group of a crawl; want a queue")
	case c.Group != nil && len(*c.Group) > store.MaxQueueKey:
		return fault.As(store.ErrInvalid, "cannot use group; got %d bytes; want at most %d", len(*c.Group), store.MaxQueueKey)
	case c.Limit != nil && *c.Limit < 0, c.QueueLimit != nil && *c.QueueLimit < 0:
		return fault.As(store.ErrInvalid, "cannot change the limit to a number below 0; 0 is no limit")
	case c.Retention != nil && *c.Retention < 0:
		return fault.As(store.ErrInvalid, "cannot change the retention to %v; 0 is none", *c.Retention)
	case queue && c.QueueLimit != nil:
		return fault.As(store.ErrInvalid, "cannot set the QueueLimit of a queue; want its Limit, or a crawl")
	case queue && c.Retention != nil:
		return fault.As(store.ErrInvalid, "cannot set the retention of a queue: of a URL that ended a store may have the key alone, and no queue; want a crawl")
	}
	return nil
}

// CrawlOfQueue is [CrawlNames] for a call that may name a queue: then it needs one crawl.
func CrawlOfQueue(crawl, queue string) (string, error) {
	if crawl == AnyCrawl && queue != "" {
		return "", fault.As(store.ErrInvalid, "cannot use queue %q of all crawls; want one crawl", queue)
	}
	return CrawlNames(crawl)
}

// CheckTake is [CrawlOfQueue] for a request.
func CheckTake(req *store.TakeRequest) (string, error) {
	if len(req.Client) > store.MaxClient {
		return "", fault.As(store.ErrInvalid, "cannot lease for a client with a name of %d bytes; want at most %d", len(req.Client), store.MaxClient)
	}
	return CrawlOfQueue(req.Crawl, req.Queue)
}

// CheckConfigure checks the arguments of Configure and fills in the crawl.
func CheckConfigure(crawl, queue string, c *store.QueueChange) (string, error) {
	if queue == "" && c.NotBefore != nil {
		return "", fault.As(store.ErrInvalid, "cannot set NotBefore of a crawl; want a queue")
	}
	if crawl == AnyCrawl && c.Retention != nil {
		return "", fault.As(store.ErrInvalid, "cannot set the retention of all crawls; want one crawl")
	}
	if err := cmp.Or(checkChange(c, queue != ""), checkQueue(queue)); err != nil {
		return "", err
	}
	return CrawlOfQueue(crawl, queue)
}

// CheckSelection checks a selection and fills in the crawl.
func CheckSelection(sel store.Selection) (string, error) {
	if one(sel.Keys != nil)+one(sel.Queue != "")+one(!sel.Before.IsZero())+one(sel.Age != 0) > 1 {
		return "", fault.As(store.ErrInvalid, "cannot forget; got more than one of keys, queue, before and age")
	}
	if sel.Age < 0 {
		return "", fault.As(store.ErrInvalid, "cannot forget; got age %v; want none below 0", sel.Age)
	}
	return CrawlNames(sel.Crawl)
}

// Never is later than any time.
const Never int64 = math.MaxInt64

// maxMs is the latest time kept, in the year 6429: 47 bits of milliseconds.
const maxMs = 1<<47 - 1

// Ms returns t in milliseconds, rounded up so that nothing happens early, and
// within 1 ms and the latest time kept. The zero time is 0.
func Ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	up := t.Add(time.Millisecond - time.Nanosecond)
	return min(max(up.UnixMilli(), 1), maxMs)
}

// MsOr is [Ms] with another answer for the zero time.
func MsOr(t time.Time, zero int64) int64 {
	if t.IsZero() {
		return zero
	}
	return Ms(t)
}

// Now returns a clock's time in milliseconds, rounded down.
func Now(t time.Time) int64 { return min(max(t.UnixMilli(), 1), maxMs) }

// Time is the inverse of [Ms]; [Never], too, becomes the zero time.
func Time(ms int64) time.Time {
	if ms <= 0 || ms == Never {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// DurMs returns a duration in milliseconds, rounded away from zero.
func DurMs(d time.Duration) int64 {
	whole := d.Truncate(time.Millisecond)
	return whole.Milliseconds() + int64(cmp.Compare(d, whole))
}

package store

import "time"

// QueueSettings are what an operator or a policy set on a queue. Zero values
// mean that the caller's defaults hold.
type QueueSettings struct {
	Delay        time.Duration `json:"delay,omitzero"`         // least time from LastTake to the next take, even if set in between; negative: none, whatever the default
	MaxInFlight  int           `json:"max_in_flight,omitzero"` // bound on leases at any time; negative: none
	BlockedUntil time.Time     `json:"blocked_until,omitzero"` // not served before this
	Limit        int64         `json:"limit,omitzero"`         // on fetched pages: no take makes Fetched plus the leased URLs exceed it; 0: none; must not be negative
	Weight       uint8         `json:"weight,omitzero"`        // share in the rotation, 1 to 255; 0 is 1
	Paused       bool          `json:"paused,omitzero"`        // not served
	// Group names, in at most 255 bytes, a group of queues of one crawl, such as the hosts of one server. They share the delay and the bound on leases, and take turns: after a
	// take from one of them, none is served until that one's delay is over, and the leases of all count towards
	// MaxInFlight; a queue whose turn it is may hold up the others if its MaxInFlight is lower. "": none. A crawl and the store have none.
	Group string `json:"group,omitzero"`
}

// CrawlSettings are the settings of a crawl, or the store's defaults. Those that apply to a single queue (Delay, MaxInFlight,
// Weight) are defaults for queues without their own.
type CrawlSettings struct {
	QueueSettings // Limit is for the whole crawl, over all its queues; the store's is for each crawl without its own
	// QueueLimit is the Limit of each queue without its own. 0: none.
	QueueLimit int64 `json:"queue_limit,omitzero"`
	// Retention is how long a crawl wants its keys to be remembered after they were last fetched, or recorded, if never
	// fetched. In a crawl without one, [Selection.Before] and [Selection.Age] count from when a key was recorded.
	// 0: none. The store has none.
	Retention time.Duration `json:"retention,omitzero"`
}

// Scope has the settings of a whole crawl (Crawl is "") or of all crawls of a store ("*"), and the rules that a
// frontier keeps for it, such as exclusions. Crawl files store it as JSON with these tags.
type Scope struct {
	Crawl string `json:"crawl,omitzero"`
	CrawlSettings
	Rules [][]byte `json:"rules,omitempty"`
}

// Change returns the change that gives a crawl these settings. It unsets nothing, and shortens no block.
func (s *CrawlSettings) Change() QueueChange {
	c := s.QueueSettings.Change()
	c.QueueLimit, c.Retention = set(s.QueueLimit), set(s.Retention)
	return c
}

// Change is CrawlSettings.Change for a queue.
func (s *QueueSettings) Change() QueueChange {
	return QueueChange{Delay: set(s.Delay), MaxInFlight: set(s.MaxInFlight), BlockedUntil: set(s.BlockedUntil), Limit: set(s.Limit),
		Weight: set(s.Weight), Paused: set(s.Paused), Group: set(s.Group), Later: true}
}

func set[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// QueueChange changes settings of a queue, a crawl or the store; nil fields stay as they are.
type QueueChange struct {
	Delay        *time.Duration
	MaxInFlight  *int
	BlockedUntil *time.Time
	Limit        *int64
	Weight       *uint8
	Paused       *bool
	// Group is ErrInvalid for a crawl and the store, and with a redisstore that was made without groups.
	Group *string
	// QueueLimit and Retention are as in [CrawlSettings]. For a queue they are ErrInvalid; Retention also
	// for the store.
	QueueLimit *int64
	Retention  *time.Duration
	// NotBefore postpones the next take, if it is later than the end of the
	// delay: an adaptive delay, counted from the end of a fetch. It
	// replaces the previous one, but see Later. Only a queue has it: for a crawl or
	// the store it is ErrInvalid.
	NotBefore *time.Time
	// Later keeps a BlockedUntil or NotBefore that is already later: a Retry-After
	// does not shorten an operator's longer block. The default is to replace them.
	Later bool
	// MustExist makes Configure return ErrNotFound for a queue that neither
	// holds nor has counted anything, or an unknown crawl. The default is
	// to keep the settings until the queue exists. In a settlement it has no effect.
	MustExist bool
}

// QueueInfo is the state of a queue.
type QueueInfo struct {
	Crawl string
	Name  string
	QueueSettings
	Held      int64     // URLs queued or leased; one whose lease ran out is still held
	InFlight  int64     // leases that have not run out at the time of the call
	Completed int64     // URLs completed
	Dropped   int64     // URLs dropped
	Fetched   int64     // pages fetched
	Failed    int64     // URLs dropped after a failure
	LastTake  time.Time // zero: never
	// NotBefore is when its delay, its group's delay and [QueueChange.NotBefore] allow the next take,
	// whatever the URLs. It is zero if the queue has none of them.
	NotBefore time.Time
	// Next is when the queue may next be served: the latest of the end of its delay (LastTake, if it
	// has none) and of its group's delay, [QueueChange.NotBefore], and the first due time of a queued URL or end of an
	// expired lease. It is zero if there is no such URL. Blocks, pauses, bounds and limits do
	// not matter.
	Next time.Time
	// GroupInFlight is the InFlight of all queues of its group together, to which the bound on leases applies. GroupNotBefore is the
	// end of the delay after the latest take from any of them. Both are zero without a group.
	GroupInFlight  int64
	GroupNotBefore time.Time
}

// Selection names what to forget, in Crawl: "" is the default crawl, "*" all. Of
// the others at most one is set; with none, the whole crawl is forgotten, with its
// queues, counts and settings.
type Selection struct {
	Crawl string
	// Keys forgets these, whatever their state. An empty slice that isn't nil
	// names no key, and so forgets nothing.
	Keys []Key
	// Queue forgets the URLs of one queue that are held, and those completed or
	// dropped whose text is kept. The store does not know the queue of other keys:
	// they stay seen. The queue keeps its settings and its last take; its
	// counts become 0.
	Queue string
	// Before forgets keys first recorded before this time and not held now; in a crawl with a
	// retention ([CrawlSettings.Retention], or [Terms.Retention]), those neither recorded nor fetched since.
	// A backend may keep keys longer: pebblestore by up to 30 days, as its package comment says.
	Before time.Time
	// Age is Before, counted back from the time of the step: for automatic sweeps. A store may
	// doubt its clock, and then returns [ErrClock] and forgets nothing. memstore and pebblestore
	// doubt a clock that is behind the latest time they have noted, or ahead of it by more than a
	// day and an eighth of Age, until it has run for an hour; then they advance by an eighth of
	// Age each hour.
	Age time.Duration
}

package store

import "time"

// Item is a URL offered to a store.
type Item struct {
	Key   Key    // identity in the crawl
	Queue string // queue key, at most 255 bytes; "" records the key as seen and queues nothing
	URL   string // text as found, handed to the fetcher unchanged
	Meta  []byte // the caller's own data (the frontier's record, frontier/record.go); the store keeps a copy and hands out copies

	// Due is when the URL may first be fetched. The default is immediately.
	Due time.Time
	// Priority orders the URLs of one queue that are due: 0 to MaxPriority,
	// higher first, then by due time, then by arrival. Those of priority Urgent also come
	// before the URLs of other queues: see [Store.Take]. The default is 0.
	Priority uint8
	// Force queues the URL although its key was seen, in this queue and as if
	// it were new, unless it is held. Caps hold: beyond them it is Full. The
	// default is false.
	Force bool
	// EndedBefore also queues a URL that was completed or dropped before this time ([Entry.Ended]), as Force does. Any other
	// known key is a duplicate: held, ended later, or without a stored text; but in a store that keeps no texts of
	// ended URLs, and so does not know the time, it is Undated. The default is not to.
	EndedBefore time.Time
	// Variant means that the URL is not in its canonical form. If its key is marked (see [Settlement.Mark]) with another
	// spelling, it is queued as by Force, and the mark is gone: a page is not lost because the first
	// spelling of its URL failed. The default is false.
	Variant bool
	// UnicodeHost means that the host is internationalised, so that the key
	// depends on the Unicode version. The default is false.
	UnicodeHost bool
}

// MaxPriority is the highest priority of an Item. Urgent is another name for it.
const (
	MaxPriority = 7
	Urgent      = MaxPriority
)

// MaxQueueKey is the maximum length of a queue key, in bytes.
const MaxQueueKey = 255

// AddOptions are the policy of one Add. The zero value sets no cap.
type AddOptions struct {
	// MaxPerQueue caps the URLs a queue may hold: a new URL beyond it is
	// refused as Full and not recorded as seen. The default is no cap.
	MaxPerQueue int64
	// MaxHeld caps the URLs the crawl may hold, in the same way. The default is no cap.
	MaxHeld int64
	// WantFirst asks for the first-seen URL of duplicates while it is kept,
	// which costs a read for each. The default is false.
	WantFirst bool
}

// Status is the answer for one offered URL.
type Status uint8

// The statuses of a Verdict.
const (
	New       Status = iota // recorded now, by this call and no other
	Duplicate               // seen before, durably
	Full                    // refused: the queue or crawl holds as much as it may; not recorded
	Damaged                 // refused: the record of whether it was seen is damaged; not recorded
	Undated                 // refused: it was seen, and when it ended is not known; see [Item.EndedBefore]
)

// String returns "new", "duplicate", "full", "damaged" or "undated".
func (s Status) String() string {
	words := [...]string{"new", "duplicate", "full", "damaged", "undated"}
	if int(s) < len(words) {
		return words[s]
	}
	return "unknown"
}

// Verdict is the answer for one offered URL.
type Verdict struct {
	Status Status
	// Requeued is set if the item was queued although its key was seen, by Force, by EndedBefore or as
	// another spelling of a marked key; its Status is Duplicate.
	Requeued bool
	// First is the URL that was first seen with this key, if it was asked for
	// ([AddOptions.WantFirst]) and is kept: for a duplicate, and for a Force item that is Full.
	First string
	// SeenIn names the key file that has the key of a duplicate: see
	// pebblestore.Options.AlsoSeen. It is "" for any other.
	SeenIn string
}

// State says where a known URL is.
type State uint8

// The states of an Entry.
const (
	SeenOnly State = iota // recorded; only the key is kept
	Queued                // waiting in its queue
	Leased                // leased to a fetcher, or its lease ran out and it was not taken again
	Done                  // completed, and its text is kept
	Dropped               // dropped, and its text is kept
)

// Entry is what a store knows of a URL. Text, queue and times are set only while
// the text is kept: until the URL is completed or dropped, or permanently where
// the store keeps texts.
type Entry struct {
	Key     Key
	State   State
	Crawl   string
	Queue   string
	URL     string
	Meta    []byte
	Due     time.Time // zero when done or dropped
	Created time.Time // since when the text is kept: the URL was recorded, or queued again after its text was dropped
	// Token identifies the lease, when leased; else it is 0. No token is issued twice. It is accepted for one settlement that ends
	// the lease, even after expiry, unless the URL was handed out again; before that, for any number of Extends. After that the
	// result of a fetch is still accepted: see [Settlement.Late].
	Token    uint64
	Expires  time.Time // end of the lease, when leased
	Leased   time.Time // when the lease was taken or last extended, when leased; zero if that is not known
	Client   string    // the TakeRequest's, when leased
	Ended    time.Time // when it was completed or dropped, if it is; in a store of an earlier format Created
	Priority uint8
	// Attempts is the number of leases in its round: since it was recorded or forced, or since a settlement
	// began a new round or changed its state after it was completed or dropped.
	Attempts int
	// Respelled: it was queued as another spelling of a marked key.
	Respelled bool
}

// Known reports whether the key of an entry is known. That of a key that is not has nothing.
func (e *Entry) Known() bool { return e.Crawl != "" }

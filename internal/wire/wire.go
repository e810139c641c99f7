// Package wire has every JSON body of the daemon's HTTP interface, typed once: for the server, for the
// commands and for the Go client. openapi.json is generated from it. There, a comment here is the
// description of a field, a tag is its bound, and a field is required unless its tag says that it may be omitted.
//
// This file has what crawlers send and get; state.go what operators do.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// URLLine is a line of POST /v1/urls and POST /v1/seen.
type URLLine struct {
	// URL is the URL as found. Either this or URLBytes is required.
	URL   string `json:"url,omitempty"`
	ID    string `json:"id,omitempty"`
	Crawl string `json:"crawl,omitempty"`
	Queue string `json:"queue,omitempty"`
	// Group names the server of the queue, such as its address: queues of one group share the delay and the bound on leases. The
	// first that a queue is offered with holds. On Redis only in a store made with groups=true.
	Group    string              `json:"group,omitempty" maxLength:"255"`
	Metadata map[string][]string `json:"metadata,omitempty"`
	Due      time.Time           `json:"due,omitzero"`
	Priority uint8               `json:"priority,omitempty" maximum:"7"` // higher first
	Depth    int                 `json:"depth,omitempty" minimum:"0" maximum:"2147483647"`
	Force    bool                `json:"force,omitempty"` // queue it although it was seen, or is queued for later
	// UnlessFetchedAfter queues the URL also if it was done or dropped before this time, or age such as 7d; a scheduled one is due now
	// if it was. Without texts (--keep-urls=false) it is refused.
	UnlessFetchedAfter Moment `json:"unless_fetched_after,omitempty"`
	// Raise gives a URL that is queued already the higher of the two priorities, and the smaller depth with --max-depth.
	Raise bool `json:"raise,omitempty"`
	// SkipTraps lets the URL past the limits of --traps.
	SkipTraps bool `json:"skip_traps,omitempty"`
	// Discriminator makes several things to fetch of one URL, such as a method
	// and the digest of a body.
	Discriminator string `json:"discriminator,omitempty" maxLength:"255"`
	// URLBytes is the URL as bytes, for a URL that is not UTF-8. It has precedence over URL.
	URLBytes Bytes `json:"url_bytes,omitempty"`
	// Meta is data to keep with the URL as it is, in place of metadata.
	Meta Bytes `json:"meta,omitempty"`
	// Record is whether POST /v1/seen records the URL. The default is that it does; /v1/urls always
	// does.
	Record *bool `json:"record,omitempty" default:"true"`
}

// Verdicts of a VerdictLine.
const (
	New       = "new"
	Duplicate = "duplicate"
	Refused   = "refused"
	Failed    = "failed" // nothing was stored; send it again
)

// VerdictLine is the answer to a URLLine.
type VerdictLine struct {
	ID        string `json:"id,omitempty"`
	URL       string `json:"url"`
	URLBytes  []byte `json:"url_bytes,omitempty"` // as the line had it
	Verdict   string `json:"verdict" enum:"new,duplicate,refused,failed"`
	Canonical string `json:"canonical,omitempty"`
	Key       string `json:"key,omitempty"`
	Queue     string `json:"queue,omitempty"`
	Requeued  bool   `json:"requeued,omitempty"` // it was seen, and is queued again
	Raised    bool   `json:"raised,omitempty"`   // it is queued, and took over the priority, depth or due time
	First     string `json:"first,omitempty"`    // the first-seen URL of a duplicate
	// FirstBytes is First where that isn't UTF-8.
	FirstBytes []byte   `json:"first_bytes,omitempty"`
	Rules      []string `json:"rules,omitempty"`   // what made a duplicate equal to First
	SeenIn     string   `json:"seen_in,omitempty"` // the key file that has a duplicate
	Error      *Fault   `json:"error,omitempty"`
}

// Error is the body of every answer that is not 200.
type Error struct {
	Error Fault `json:"error"`
}

// Fault is why something was not done.
type Fault struct {
	Code    string `json:"code"` // a short stable word, such as "invalid"
	Message string `json:"message"`
}

// LeaseRequest is the body of POST /v1/lease.
type LeaseRequest struct {
	// Crawl is the crawl to lease from, "*" for all, unless the token is for some. The default is DEFAULT, as
	// for all that names no crawl.
	Crawl string `json:"crawl,omitempty" maxLength:"200"`
	Queue string `json:"queue,omitempty" maxLength:"255"`
	// Client names who leases. It is kept with the leases, so that those of a client that died can be freed (POST /v1/change).
	Client      string `json:"client,omitempty" maxLength:"64"`
	Max         int    `json:"max,omitempty" minimum:"0" maximum:"1073741824"`
	MaxQueues   int    `json:"max_queues,omitempty" minimum:"0" maximum:"1073741824"`
	MaxPerQueue int    `json:"max_per_queue,omitempty" minimum:"0" maximum:"1073741824"`
	// MaxInFlight bounds the leases of a queue that has no bound of its own, at any
	// time. The default is MaxPerQueue, and with neither that of the frontier.
	MaxInFlight int `json:"max_in_flight,omitempty" minimum:"0" maximum:"1073741824"`
	// LeaseSeconds is how long the URLs are leased. The default is 30.
	LeaseSeconds float64 `json:"lease_seconds,omitempty" minimum:"0" maximum:"1073741824"`
	// DelaySeconds is the delay of queues that have none of their own. The
	// default is the server's.
	DelaySeconds *float64 `json:"delay_seconds,omitempty" minimum:"0" maximum:"604800"`
	// WaitSeconds is how long to wait for something to lease, at most a minute; the wait ends
	// early when the crawl is finished or limited. The default is not to wait.
	WaitSeconds float64 `json:"wait_seconds,omitempty" minimum:"0" maximum:"1073741824"`
	// Stay waits on when the crawl is finished or limited.
	Stay bool `json:"stay,omitempty"`
	// RawMeta asks for the data of a URL as the bytes that are stored, instead of
	// as metadata.
	RawMeta bool `json:"raw_meta,omitempty"`
}

// Leases is the answer to a LeaseRequest.
type Leases struct {
	Leases []Lease `json:"leases"`
	// State is why there are no leases; of several that hold, the first: nothing is queued or leased (finished); all that
	// is left is paused; a lease is running, whose result may bring more (waiting); all that is left has reached a limit, or
	// is paused beside what has (limited); the first queue to open is blocked, or waits for its delay or a due time
	// (delayed).
	State string `json:"state,omitempty" enum:"finished,paused,waiting,limited,blocked,delayed"`
	// Next is when another request may return more if nothing is added, settled or changed before. It is not set if time
	// alone changes nothing, or a request that waited has leases.
	Next time.Time `json:"next,omitzero"`
	// Finished is the state finished.
	Finished bool `json:"finished,omitempty"`
	// UnknownCrawl says, beside the state finished, that no URL of the crawl is known: none was offered, or all were forgotten. Its name may be mistyped.
	UnknownCrawl bool `json:"unknown_crawl,omitempty"`
	// HoldingQueues is how many queues hold something, if there are no leases; the others how many of them each holds back.
	HoldingQueues int64 `json:"holding_queues,omitempty"`
	PausedQueues  int64 `json:"paused_queues,omitempty"`
	LimitedQueues int64 `json:"limited_queues,omitempty"`
	BlockedQueues int64 `json:"blocked_queues,omitempty"`
	// FailingQueue is a queue that waits as a whole, since its fetches failed.
	FailingQueue string `json:"failing_queue,omitempty"`
}

// Lease is a leased URL. The first three fields name it when it is settled. The token is
// text since it needs all of 64 bits.
type Lease struct {
	Crawl string `json:"crawl"`
	Key   string `json:"key"`
	Token string `json:"token"`
	// Attempts counts the leases since the URL was added, forced or recrawled, this one included. The others ended as
	// failures (retry), deferrals (defer), releases, and without a result (expiries).
	Attempts  int                 `json:"attempts"`
	Failures  int                 `json:"failures,omitempty"`
	Deferrals int                 `json:"deferrals,omitempty"`
	Releases  int                 `json:"releases,omitempty"`
	Expiries  int                 `json:"expiries,omitempty"`
	URL       string              `json:"url"`
	Queue     string              `json:"queue"`
	Metadata  map[string][]string `json:"metadata,omitempty"`
	Depth     int                 `json:"depth,omitempty"`
	Priority  uint8               `json:"priority,omitempty"`
	Expires   time.Time           `json:"expires"`

	Discriminator string    `json:"discriminator,omitempty"`
	Redirects     int       `json:"redirects,omitempty"`
	Created       time.Time `json:"created,omitzero"`
	// URLBytes is the URL where it isn't UTF-8, which JSON can't carry.
	URLBytes []byte `json:"url_bytes,omitempty"`
	// Meta is the URL's data as stored, when it was asked for.
	Meta []byte `json:"meta,omitempty"`
}

// Done is the body of POST /v1/done.
type Done struct {
	// Crawl is that of the leases that name none. The default is DEFAULT.
	Crawl  string      `json:"crawl,omitempty" maxLength:"200"`
	Leases []DoneLease `json:"leases"`
}

// DoneLease settles a lease.
type DoneLease struct {
	Crawl string `json:"crawl,omitempty" maxLength:"200"`
	Key   string `json:"key" pattern:"^[0-9a-f]{32}$"`
	Token string `json:"token" pattern:"^[1-9][0-9]{0,19}$"`
	// Attempts is not needed: the daemon knows the counts of a URL.
	Attempts int `json:"attempts,omitempty" minimum:"0" maximum:"1073741824"`
	// Outcome is done (the default), retry (a failure), defer (the host said "not now"), recrawl, drop, release, extend, or redirected:
	// to a page that the client has offered. A retry with block_queue_until or the status 429 or 503 is a defer.
	Outcome string `json:"outcome,omitempty" enum:"done,retry,defer,recrawl,drop,release,extend,redirected"`
	// At is when the URL is due again. Without it a recrawl is due by the schedule of --recrawl-latest, or at once.
	At time.Time `json:"at,omitzero"`
	// BlockQueueUntil keeps the queue unserved, as a Retry-After asks.
	BlockQueueUntil time.Time `json:"block_queue_until,omitzero"`
	// Meta replaces the URL's data, as stored; Priority its priority.
	Meta     Bytes  `json:"meta,omitempty"`
	Priority *uint8 `json:"priority,omitempty" maximum:"7"`
	// Metadata replaces the URL's data by metadata, in place of Meta.
	Metadata map[string][]string `json:"metadata,omitempty"`
	// TookSeconds is the duration of the fetch, for adaptive delays. The default is unknown.
	TookSeconds float64 `json:"took_seconds,omitempty" minimum:"0" maximum:"604800"`
	// Fetched is the result of the fetch.
	Fetched *Fetched `json:"fetched,omitempty"`
}

// Fetched is the result of a fetch.
type Fetched struct {
	URL      string    `json:"url" minLength:"1"`
	Time     time.Time `json:"time,omitzero"`
	Status   int       `json:"status,omitempty" minimum:"0" maximum:"999"`
	Digest   string    `json:"digest,omitempty"`
	Redirect string    `json:"redirect,omitempty"`

	// Canonical is the canonical link that the response declares, absolute. Like the two fields below it is evidence to
	// judge rules by; at hosts of trust_declared those two, not this one, also act as rules.
	Canonical string `json:"canonical,omitempty"`
	// NoVarySearch is the No-Vary-Search field of the response.
	NoVarySearch string `json:"no_vary_search,omitempty"`
	// CleanParam is the Clean-param rules of a robots.txt, one a line.
	CleanParam string `json:"clean_param,omitempty"`

	// Masked is the digest of the content without what the URL tells, such as the date of a day of a calendar: declared.Masked.
	// Like unlisted it counts for --traps yield alone, and is not kept.
	Masked string `json:"masked,omitempty"`
	// Unlisted: the response asks robots neither to index it nor to follow its links.
	Unlisted bool `json:"unlisted,omitempty"`
}

// Answers is the answer to Done: ok, gave-up, stale or already-done for each lease.
type Answers struct {
	Answers []string `json:"answers"`
	// StaleIn is the crawl in which leases were looked for that name none and are stale: of another crawl they may be good.
	StaleIn string `json:"stale_in,omitempty"`
}

// RedirectRequest is the body of POST /v1/redirect: a lease as it was handed out, and
// where its URL led.
type RedirectRequest struct {
	Crawl         string `json:"crawl,omitempty" maxLength:"200"`
	Queue         string `json:"queue,omitempty" maxLength:"255"`
	Key           string `json:"key" pattern:"^[0-9a-f]{32}$"`
	Token         string `json:"token" pattern:"^[1-9][0-9]{0,19}$"`
	URL           string `json:"url"`
	URLBytes      Bytes  `json:"url_bytes,omitempty"` // the URL, if it is not UTF-8
	Discriminator string `json:"discriminator,omitempty" maxLength:"255"`
	// Target is where the redirect led, relative to url or not. Either this or TargetBytes is required.
	Target      string `json:"target,omitempty"`
	TargetBytes Bytes  `json:"target_bytes,omitempty"` // has precedence over Target
	RawMeta     bool   `json:"raw_meta,omitempty"`
}

// Redirection is the answer to a RedirectRequest; it has one of the two.
type Redirection struct {
	// Follow is the lease under which to fetch the target now.
	Follow *Lease `json:"follow,omitempty"`
	// Target is the verdict on the target, offered like a link; the lease is over.
	Target *VerdictLine `json:"target,omitempty"`
}

// ImportLine is the answer to a line of POST /v1/import, which is a URLItem in the JSON form of Protocol Buffers.
type ImportLine struct {
	ID     string `json:"ID"`
	Status string `json:"status" enum:"OK,SKIPPED,FAIL"`
	Error  *Fault `json:"error,omitempty"`
}

// Bytes is bytes as base64 text, and as nothing else: encoding/json would also take an
// array of numbers.
type Bytes []byte

// UnmarshalJSON reads base64 text; null is no bytes.
func (b *Bytes) UnmarshalJSON(value []byte) error {
	var text *string
	err := json.Unmarshal(value, &text)
	if err == nil && text != nil {
		*b, err = base64.StdEncoding.DecodeString(*text)
	}
	return err
}

// BytesOf returns the bytes of a text that JSON can't carry, nil for any other.
func BytesOf(text string) []byte {
	if utf8.ValidString(text) {
		return nil
	}
	return []byte(text)
}

// TextOr returns what JSON carried as bytes, if it did, or as text.
func TextOr(text string, bytes []byte) string {
	if len(bytes) > 0 {
		return string(bytes)
	}
	return text
}

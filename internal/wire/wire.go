// Package wire has the types of the bodies of the daemon's HTTP interface, which is JSON. The server
// and the Go client use them. A test checks openapi.json against them.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// URLLine is a line of POST /v1/urls and POST /v1/seen.
type URLLine struct {
	URL      string              `json:"url,omitempty"`
	ID       string              `json:"id,omitempty"`
	Crawl    string              `json:"crawl,omitempty"`
	Queue    string              `json:"queue,omitempty"`
	Metadata map[string][]string `json:"metadata,omitempty"`
	Due      time.Time           `json:"due,omitzero"`
	Priority uint8               `json:"priority,omitempty"`
	Depth    int                 `json:"depth,omitempty"`
	Force    bool                `json:"force,omitempty"`
	// SkipTraps lets the URL past the limits of --traps.
	SkipTraps bool `json:"skip_traps,omitempty"`
	// Discriminator makes several things to fetch of one URL, such as a method
	// and the digest of a body.
	Discriminator string `json:"discriminator,omitempty"`
	// URLBytes is the URL as bytes, for a URL that is not UTF-8. It has precedence over URL.
	URLBytes Bytes `json:"url_bytes,omitempty"`
	// Meta is data to keep with the URL as it is, in place of metadata.
	Meta Bytes `json:"meta,omitempty"`
	// Record is whether POST /v1/seen records the URL. The default is that it does; /v1/urls always
	// does.
	Record *bool `json:"record,omitempty"`
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
	Verdict   string `json:"verdict"`
	Canonical string `json:"canonical,omitempty"`
	Key       string `json:"key,omitempty"`
	Queue     string `json:"queue,omitempty"`
	Requeued  bool   `json:"requeued,omitempty"`
	First     string `json:"first,omitempty"` // the first-seen URL of a duplicate
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
	// Crawl is the crawl to lease from, "*" for all. The default is DEFAULT, as
	// for all that names no crawl.
	Crawl       string `json:"crawl,omitempty"`
	Queue       string `json:"queue,omitempty"`
	Max         int    `json:"max,omitempty"`
	MaxQueues   int    `json:"max_queues,omitempty"`
	MaxPerQueue int    `json:"max_per_queue,omitempty"`
	// MaxInFlight bounds the leases of a queue that has no bound of its own, at any
	// time. The default is MaxPerQueue, and with neither that of the frontier.
	MaxInFlight  int     `json:"max_in_flight,omitempty"`
	LeaseSeconds float64 `json:"lease_seconds,omitempty"`
	// DelaySeconds is the delay of queues that have none of their own. The
	// default is the server's.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// WaitSeconds is how long to wait for something to hand out; the wait ends
	// early when the crawl has nothing queued or leased. The default is not to wait.
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	// Stay waits on when the crawl has nothing queued or leased.
	Stay bool `json:"stay,omitempty"`
	// RawMeta asks for the data of a URL as the bytes that are stored, instead of
	// as metadata.
	RawMeta bool `json:"raw_meta,omitempty"`
}

// Leases is the answer to a LeaseRequest.
type Leases struct {
	Leases []Lease `json:"leases"`
	// Next is when another request may return more. It is not set if the request waited.
	Next time.Time `json:"next,omitzero"`
	// Finished means that nothing is queued or leased in the crawl. It is set only if the request
	// waited.
	Finished bool `json:"finished,omitempty"`
}

// Lease is a leased URL. The first four fields name it when it is settled. The token is
// text since it needs all of 64 bits.
type Lease struct {
	Crawl    string              `json:"crawl"`
	Key      string              `json:"key"`
	Token    string              `json:"token"`
	Attempts int                 `json:"attempts"`
	URL      string              `json:"url"`
	Queue    string              `json:"queue"`
	Metadata map[string][]string `json:"metadata,omitempty"`
	Depth    int                 `json:"depth,omitempty"`
	Priority uint8               `json:"priority,omitempty"`
	Expires  time.Time           `json:"expires"`

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
	Leases []DoneLease `json:"leases"`
}

// DoneLease settles a lease.
type DoneLease struct {
	Crawl    string `json:"crawl,omitempty"`
	Key      string `json:"key"`
	Token    string `json:"token"`
	Attempts int    `json:"attempts,omitempty"`
	// Outcome is done, retry, recrawl, drop, release or extend.
	Outcome string    `json:"outcome,omitempty"`
	At      time.Time `json:"at,omitzero"`
	// BlockQueueUntil keeps the queue unserved, as a Retry-After asks.
	BlockQueueUntil time.Time `json:"block_queue_until,omitzero"`
	// Meta replaces the URL's data, as stored; Priority its priority.
	Meta     Bytes  `json:"meta,omitempty"`
	Priority *uint8 `json:"priority,omitempty"`
	// TookSeconds is the duration of the fetch, for adaptive delays. The default is unknown.
	TookSeconds float64 `json:"took_seconds,omitempty"`
	// Fetched is the result of the fetch.
	Fetched *Fetched `json:"fetched,omitempty"`
}

// Fetched is the result of a fetch.
type Fetched struct {
	URL      string    `json:"url"`
	Time     time.Time `json:"time,omitzero"`
	Status   int       `json:"status,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Redirect string    `json:"redirect,omitempty"`

	Canonical    string `json:"canonical,omitempty"`
	NoVarySearch string `json:"no_vary_search,omitempty"`
	CleanParam   string `json:"clean_param,omitempty"`
}

// Answers is the answer to Done: ok, gave-up or stale for each lease.
type Answers struct {
	Answers []string `json:"answers"`
}

// RedirectRequest is the body of POST /v1/redirect: a lease as it was handed out, and
// where its URL led.
type RedirectRequest struct {
	Crawl         string `json:"crawl,omitempty"`
	Queue         string `json:"queue,omitempty"`
	Key           string `json:"key"`
	Token         string `json:"token"`
	URL           string `json:"url"`
	URLBytes      Bytes  `json:"url_bytes,omitempty"`
	Discriminator string `json:"discriminator,omitempty"`
	Target        string `json:"target,omitempty"`
	TargetBytes   Bytes  `json:"target_bytes,omitempty"` // goes before Target
	RawMeta       bool   `json:"raw_meta,omitempty"`
}

// Redirection is the answer to a RedirectRequest; it has one of the two.
type Redirection struct {
	// Follow is the lease under which to fetch the target now.
	Follow *Lease `json:"follow,omitempty"`
	// Target is the verdict on the target, offered like a link; the lease is over.
	Target *VerdictLine `json:"target,omitempty"`
}

// QueueSettings is the body of POST /v1/queue: settings of one queue, kept for when it
// comes if it holds nothing yet. What isn't given stays as it is.
type QueueSettings struct {
	Crawl string `json:"crawl,omitempty"`
	Queue string `json:"queue"`
	// DelaySeconds is the time from one hand-out to the next; 0 is none.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// MaxInFlight bounds its leases at any time; 0 is the default of all.
	MaxInFlight *int `json:"max_in_flight,omitempty"`
	// BlockedUntil keeps it unserved; a time that is over unblocks it.
	BlockedUntil *time.Time `json:"blocked_until,omitempty"`
	// Limit keeps it unserved while this number of its URLs or more are completed; 0 is no limit.
	// An operator sets it, and Paused: both need a token of scope admin.
	Limit *int64 `json:"limit,omitempty"`
	// Paused keeps it unserved until it is resumed.
	Paused *bool `json:"paused,omitempty"`
}

// Pause is the body of POST /v1/pause, and its answer: whether all queues are paused. A body
// without Paused is refused.
type Pause struct {
	Paused *bool `json:"paused"`
}

// ForgetRequest is the body of POST /v1/forget. It names one of URLs, Queue, Before and All.
type ForgetRequest struct {
	Crawl string      `json:"crawl,omitempty"`
	URLs  []ForgetURL `json:"urls,omitempty"`
	Queue string      `json:"queue,omitempty"`
	// Before names URLs that were first seen before a time and are not held.
	Before time.Time `json:"before,omitzero"`
	// Held has Before name URLs of any state, of one queue if Queue is set too.
	Held bool `json:"held,omitempty"`
	// All names the whole crawl, with its queues and settings.
	All bool `json:"all,omitempty"`
}

// ForgetURL is a URL to forget, in any variant. Queue matters in a crawl without canonical forms.
type ForgetURL struct {
	URL           string `json:"url,omitempty"`
	URLBytes      Bytes  `json:"url_bytes,omitempty"`
	Queue         string `json:"queue,omitempty"`
	Discriminator string `json:"discriminator,omitempty"`
}

// Forgotten is the answer to a ForgetRequest.
type Forgotten struct {
	Forgotten int64 `json:"forgotten"`
}

// Explanation is the answer of GET /v1/explain.
type Explanation struct {
	Input     string   `json:"input"`
	Canonical string   `json:"canonical,omitempty"`
	Key       string   `json:"key,omitempty"`
	Queue     string   `json:"queue,omitempty"`
	Profile   string   `json:"profile"`
	Changes   []Change `json:"changes"`
	Known     *Known   `json:"known,omitempty"`
	Trap      *Trap    `json:"trap,omitempty"`
	Error     *Fault   `json:"error,omitempty"`
}

// Trap is what the fetches of a path template brought, or those of a group of templates, whose name
// ends in {rest}.
type Trap struct {
	Template string `json:"template"`
	Fetches  uint32 `json:"fetches"` // the latest, at most 64
	Known    uint32 `json:"known"`   // of them, those that brought known content
	Lowered  bool   `json:"lowered"` // by its fetches
	Lifted   bool   `json:"lifted"`  // by an operator: its URLs are not lowered
}

// Change is what a rule did to a URL.
type Change struct {
	Rule   string `json:"rule"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Scope is the host and path of the rule file's entry by which the rule holds.
	Scope string `json:"scope,omitempty"`
}

// Known is what the store knows of a URL.
type Known struct {
	State string `json:"state"`           // seen, queued, leased, done or dropped
	First string `json:"first,omitempty"` // the first-seen URL, while that is kept
	// FirstBytes is First where that isn't UTF-8.
	FirstBytes []byte    `json:"first_bytes,omitempty"`
	Queue      string    `json:"queue,omitempty"`
	Due        time.Time `json:"due,omitzero"`
	Created    time.Time `json:"created,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
}

// Stats is the answer of GET /v1/stats.
type Stats struct {
	Crawl     string             `json:"crawl"`
	Crawls    []string           `json:"crawls"`
	Seen      int64              `json:"seen"`
	Held      int64              `json:"held"`
	InFlight  int64              `json:"in_flight"`
	Completed int64              `json:"completed"`
	Dropped   int64              `json:"dropped"`
	Queues    int64              `json:"queues"`
	Active    int64              `json:"active_queues"`
	Serving   bool               `json:"serving"`  // not paused, not draining
	DiskLow   bool               `json:"disk_low"` // writes are refused
	Profile   string             `json:"profile"`
	Counters  map[string]float64 `json:"counters"` // those of /metrics
	Refused   []Refusal          `json:"refused"`
}

// Refusal counts the URLs of a crawl that were refused for a reason.
type Refusal struct {
	Crawl    string   `json:"crawl"`
	Reason   string   `json:"reason"`
	Dropped  bool     `json:"dropped,omitempty"` // they had been accepted, and were dropped later
	Count    int64    `json:"count"`
	Examples []string `json:"examples"`
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

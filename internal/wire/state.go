package wire

import "time"

// QueueSettings is the body of POST /v1/queue: it sets what holds for a queue, for the queues of a crawl, or for all
// queues. What isn't given stays as it is. The settings of a queue come before those of its crawl, and these before
// those of the store; pauses and blocks of each of them hold.
type QueueSettings struct {
	// Crawl is the crawl of the queue, DEFAULT if it is not given. Without a queue it must be given: the settings are
	// those of the crawl.
	Crawl string `json:"crawl,omitempty" maxLength:"200"`
	Queue string `json:"queue,omitempty" maxLength:"255"`
	// All is given instead of crawl and queue: the settings are those of the store.
	All bool `json:"all,omitempty"`
	// Create keeps the settings for a queue or crawl that isn't there yet. Without it, such a name is an error.
	Create bool `json:"create,omitempty"`
	// DelaySeconds is the time from one hand-out to the next; 0 is none.
	DelaySeconds *float64 `json:"delay_seconds,omitempty" minimum:"0" maximum:"604800"`
	// DefaultDelay takes the delay back: that of the crawl, the store or the daemon holds.
	DefaultDelay bool `json:"default_delay,omitempty"`
	// MaxInFlight bounds its leases at any time; 0 is the default of all.
	MaxInFlight *int `json:"max_in_flight,omitempty" minimum:"0" maximum:"1073741824"`
	// BlockedUntil keeps it unserved; a time that is over unblocks it, and ends the wait of a queue whose fetches failed.
	BlockedUntil *time.Time `json:"blocked_until,omitempty"`
	// Limit keeps it unserved while this number of its pages were fetched, or are being fetched; 0 is no limit. That of a
	// crawl counts the pages of all its queues; that of the store is the one of crawls that have none. An operator sets it, Paused,
	// Weight and Group, and all that holds for a crawl or the store: these need a token of scope admin.
	Limit *int64 `json:"limit,omitempty" minimum:"0"`
	// Paused keeps it unserved until it is resumed.
	Paused *bool `json:"paused,omitempty"`
	// Weight is the share in the rotation: a queue of weight 4 is served four times as often as one of weight 1. 0 is the
	// default, 1.
	Weight *int `json:"weight,omitempty" minimum:"0" maximum:"255"`
	// Order is that of the URLs of a crawl, or of all, that are offered from now on and have the same priority: breadth, the default, in order of
	// arrival, or depth, those with the greatest depth first.
	Order string `json:"order,omitempty" enum:"breadth,depth"`
	// Group puts a queue into a group, or with "" out of it: the queues of one server share the delay and the bound on leases. On
	// Redis only in a store made with groups=true.
	Group *string `json:"group,omitempty" maxLength:"255"`
	// QueueLimit is, of a crawl or the store, the limit of each queue that has none of its own; 0 is none.
	QueueLimit *int64 `json:"queue_limit,omitempty" minimum:"0"`
	// RetentionSeconds is, of a crawl, how long after its last fetch a URL is new again; 0 is the age of the daemon, --seen-for. Not on Redis.
	RetentionSeconds *float64 `json:"retention_seconds,omitempty" minimum:"0" maximum:"3153600000"`
}

// Bounds are the settings of a queue that Settings and Queue have alike. What isn't given is not set.
type Bounds struct {
	DelaySeconds *float64  `json:"delay_seconds,omitempty"` // 0 is none
	MaxInFlight  int       `json:"max_in_flight,omitempty"` // negative is no bound
	BlockedUntil time.Time `json:"blocked_until,omitzero"`
	Limit        int64     `json:"limit,omitempty"`
	Weight       uint8     `json:"weight,omitempty"`
	Group        string    `json:"group,omitempty"` // of a queue
}

// Settings are what is set for a queue, a crawl or the store. What isn't given is not set.
type Settings struct {
	Bounds
	Paused bool   `json:"paused,omitempty"`
	Order  string `json:"order,omitempty" enum:"depth"` // of a crawl or all: depth, if it is not breadth

	QueueLimit       int64   `json:"queue_limit,omitempty"`       // of a crawl or all
	RetentionSeconds float64 `json:"retention_seconds,omitempty"` // of a crawl
}

// Configured is the answer of POST /v1/queue.
type Configured struct {
	Scope string   `json:"scope" enum:"queue,crawl,store"`
	Crawl string   `json:"crawl,omitempty"`
	Queue string   `json:"queue,omitempty"`
	Was   Settings `json:"was"`
	Is    Settings `json:"is"`
}

// Pause is the body of POST /v1/pause, and its answer: whether all queues are paused. A body
// without Paused is refused.
type Pause struct {
	Paused *bool `json:"paused"`
}

// ForgetRequest is the body of POST /v1/forget. It names one of urls, queue, before and all.
type ForgetRequest struct {
	Crawl string      `json:"crawl,omitempty" maxLength:"200"`
	URLs  []ForgetURL `json:"urls,omitempty"`
	Queue string      `json:"queue,omitempty" maxLength:"255"`
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
	Discriminator string `json:"discriminator,omitempty" maxLength:"255"`
}

// Selection selects URLs whose text is kept: queued and leased ones, and those done or dropped where the store keeps URLs.
// All that is given must hold; of several values of a field, one.
type Selection struct {
	Crawl   string   `json:"crawl,omitempty" maxLength:"200"` // or * for all, without crawls= of the token; the default is DEFAULT
	Queue   string   `json:"queue,omitempty" maxLength:"255"`
	States  []string `json:"states,omitempty"`  // of queued, scheduled (queued for a later time), leased, done and dropped
	Reasons []string `json:"reasons,omitempty"` // for which URLs were dropped
	Match   []string `json:"match,omitempty"`   // rules that name URLs, like those of an ExclusionRequest
	Before  Moment   `json:"before,omitempty"`  // found before this time, day (2026-01-31) or age (30d, 12h)
	After   Moment   `json:"after,omitempty"`   // found then or later
	// FetchedBefore selects URLs that were last fetched or given up before this time or age: done, dropped, or scheduled for a recrawl.
	FetchedBefore Moment `json:"fetched_before,omitempty"`
	FetchedAfter  Moment `json:"fetched_after,omitempty"` // then or later
	// Client selects the leased URLs of a client, and LeasedBefore those whose lease was taken or extended before this time or age.
	Client       string `json:"client,omitempty" maxLength:"64"`
	LeasedBefore Moment `json:"leased_before,omitempty"`
}

// ChangeRequest is the body of POST /v1/change.
type ChangeRequest struct {
	Select Selection `json:"select"`
	// Do is requeue, for URLs done, dropped or scheduled; free, for leased ones whose fetchers are dead; drop, for queued and
	// scheduled ones; or forget, for any.
	Do string `json:"do" enum:"requeue,free,drop,forget"`
	// All stands for a selection that names nothing but a crawl: all its URLs.
	All bool `json:"all,omitempty"`
}

// Changed is the answer to a ChangeRequest, and to GET /v1/urls with count.
type Changed struct {
	URLs     int64 `json:"urls"`               // how many were changed, or found
	Excluded int64 `json:"excluded,omitempty"` // how many were not requeued, since they are excluded
	// Full is set if so many were requeued that new URLs of the crawl, or of the queue that was named, are refused: caps bound offers alone.
	Full bool `json:"full,omitempty"`
}

// FoundURL is a line of the answer of GET /v1/urls.
type FoundURL struct {
	URL      string `json:"url"`
	URLBytes []byte `json:"url_bytes,omitempty"` // the URL, if it is not UTF-8
	Crawl    string `json:"crawl"`
	Queue    string `json:"queue"`
	State    string `json:"state" enum:"queued,scheduled,leased,done,dropped"`
	// Reason is why the daemon gave a dropped URL up.
	Reason string `json:"reason,omitempty"`
	// Status is the HTTP status of the latest fetch that brought no page, if it was reported.
	Status        int    `json:"status,omitempty"`
	Key           string `json:"key"`
	Priority      uint8  `json:"priority,omitempty"`
	Depth         int    `json:"depth,omitempty"`
	Discriminator string `json:"discriminator,omitempty"`
	Attempts      int    `json:"attempts,omitempty"`
	// Metadata is that of the URL, or Meta its data, if that is no metadata.
	Metadata map[string][]string `json:"metadata,omitempty"`
	Meta     []byte              `json:"meta,omitempty"`
	Due      time.Time           `json:"due,omitzero"` // of a scheduled URL
	Created  time.Time           `json:"created,omitzero"`
	Fetched  time.Time           `json:"fetched,omitzero"` // last fetched or given up
	Expires  time.Time           `json:"expires,omitzero"` // of a leased URL, as are the next two
	Leased   time.Time           `json:"leased,omitzero"`  // or extended
	Client   string              `json:"client,omitempty"`
}

// ExclusionRequest is the body of POST /v1/exclusions: rules of a crawl, or of every crawl. Rules that are added, and are
// there already, change nothing.
type ExclusionRequest struct {
	Crawl string `json:"crawl,omitempty" maxLength:"200"`
	All   bool   `json:"all,omitempty"` // instead of crawl
	// Add has rules by which URLs are refused, and forgotten where they are queued: a host, *.host for the hosts below it,
	// host/path for paths that begin so, with * for any text and a final $ for the end, */path of any host,
	// https://host/path, !RULE for an exception, or a hashed URI.
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"` // rules that are taken back
}

// Exclusions is the answer of GET and POST /v1/exclusions.
type Exclusions struct {
	Added      int         `json:"added,omitempty"`
	Removed    int         `json:"removed,omitempty"`
	Forgotten  int64       `json:"forgotten,omitempty"`  // queued URLs that the rules added excluded
	Forgetting bool        `json:"forgetting,omitempty"` // more of them are, after this answer
	Exclusions []Exclusion `json:"exclusions"`           // in force, those of every crawl too
}

// Exclusion is a rule, with what it did since the daemon started.
type Exclusion struct {
	Crawl     string   `json:"crawl"` // * for every crawl
	Rule      string   `json:"rule"`
	Refused   int64    `json:"refused"`   // offers
	Forgotten int64    `json:"forgotten"` // queued URLs
	Examples  []string `json:"examples"`  // the latest of both
}

// Forgotten is the answer to a ForgetRequest.
type Forgotten struct {
	Forgotten int64 `json:"forgotten"` // keys that are new again
}

// Explanation is the answer of GET /v1/explain.
type Explanation struct {
	Input     string   `json:"input"`
	Canonical string   `json:"canonical,omitempty"`
	Key       string   `json:"key,omitempty"`
	Queue     string   `json:"queue,omitempty"`
	Profile   string   `json:"profile"`
	Changes   []Change `json:"changes"`
	// Why says in a sentence what became of the URL, and what it waits for.
	Why string `json:"why"`
	// Verdict is what an offer of the URL would be answered now, and Refusal for what reason it would be refused.
	Verdict  string `json:"verdict,omitempty" enum:"new,duplicate,refused"`
	Refusal  string `json:"refusal,omitempty"`
	Excluded string `json:"excluded,omitempty"` // the rule that excludes the URL
	// Holds is the queue of a URL that waits, with what holds it.
	Holds *Queue `json:"holds,omitempty"`
	Known *Known `json:"known,omitempty"`
	Trap  *Trap  `json:"trap,omitempty"`
	Error *Fault `json:"error,omitempty"`
}

// Trap is what the fetches of a path template brought, or those of a group of templates, whose name
// ends in {rest}.
type Trap struct {
	Template string `json:"template"` // the shape of canonical URLs
	Fetches  uint32 `json:"fetches"`  // the latest, at most 64
	Known    uint32 `json:"known"`    // of them, those that brought nothing new
	Lowered  bool   `json:"lowered"`  // by its fetches
	Lifted   bool   `json:"lifted"`   // by an operator: its URLs are neither lowered nor left out
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
	State string `json:"state" enum:"seen,queued,leased,done,dropped"` // seen, queued, leased, done or dropped
	First string `json:"first,omitempty"`                              // the first-seen URL, while that is kept
	// FirstBytes is First where that isn't UTF-8.
	FirstBytes []byte    `json:"first_bytes,omitempty"`
	Queue      string    `json:"queue,omitempty"`
	Due        time.Time `json:"due,omitzero"`
	Created    time.Time `json:"created,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	Attempts   int       `json:"attempts,omitempty"` // leases in this round; how they ended:
	Failures   int       `json:"failures,omitempty"`
	Deferrals  int       `json:"deferrals,omitempty"`
	Releases   int       `json:"releases,omitempty"`
	Expiries   int       `json:"expiries,omitempty"`
	// Status is the HTTP status of the latest fetch that brought no page.
	Status int `json:"status,omitempty"`
	// Respelled is "canonical" of a page that is fetched as its canonical form, since the spelling that was offered first was
	// not found, and "offered" of one that was not found then either and was offered in another spelling.
	Respelled string `json:"respelled,omitempty" enum:"canonical,offered"`
	// Reason is why the daemon gave the URL up.
	Reason string `json:"reason,omitempty"`
}

// Stats is the answer of GET /v1/stats: exact counts of a crawl, or of all.
type Stats struct {
	Crawl     string `json:"crawl"`
	Seen      int64  `json:"seen"`
	Held      int64  `json:"held"`
	InFlight  int64  `json:"in_flight"`
	Completed int64  `json:"completed"`
	Dropped   int64  `json:"dropped"`
	Fetched   int64  `json:"fetched"` // pages that were read, each time
	Failed    int64  `json:"failed"`  // URLs that were given up after a failure
	Marked    int64  `json:"marked"`  // pages that were not found: another spelling of their URL is queued when it is offered
	Queues    int64  `json:"queues"`
	Active    int64  `json:"active_queues"`
	// DiskBytes is the size of the whole store, if it is on a disk of the daemon.
	DiskBytes int64  `json:"disk_bytes"`
	Profile   string `json:"profile"` // that makes the keys
	Version   int    `json:"profile_version"`
	Unicode   string `json:"unicode,omitempty"`
	// Index is how the keys are held in memory, for a store on disk.
	Index *Index `json:"index,omitempty"`
	// Settings are those of the crawl, or for "*" those of the store.
	Settings Settings           `json:"settings"`
	Crawls   []string           `json:"crawls"`
	Serving  bool               `json:"serving"`  // not paused, not draining
	DiskLow  bool               `json:"disk_low"` // writes are refused
	Counters map[string]float64 `json:"counters"` // those of /metrics, but for a token for some crawls
	Refused  []Refusal          `json:"refused"`
}

// Index is how a store holds its keys in memory.
type Index struct {
	Mode  string `json:"mode"`
	Bytes int64  `json:"bytes"`
	// WronglyDropped is the expected number of new URLs that were called duplicates.
	WronglyDropped float64 `json:"wrongly_dropped"`
}

// Refusal counts the URLs of a crawl that were refused for a reason.
type Refusal struct {
	Crawl    string   `json:"crawl"`
	Reason   string   `json:"reason"`
	Rule     string   `json:"rule,omitempty"`    // by which they are excluded
	Dropped  bool     `json:"dropped,omitempty"` // they had been accepted, and were dropped later; excluded ones were forgotten
	Count    int64    `json:"count"`
	Examples []string `json:"examples"`
}

// Queue is a queue of GET /v1/queues.
type Queue struct {
	Crawl     string `json:"crawl"`
	Queue     string `json:"queue"`
	Held      int64  `json:"held"`
	InFlight  int64  `json:"in_flight"`
	Completed int64  `json:"completed"`
	Dropped   int64  `json:"dropped"`
	Fetched   int64  `json:"fetched"`
	Failed    int64  `json:"failed"`
	State     string `json:"state" enum:"ready,in-flight,delayed,blocked,paused,limited,empty"`
	// Reason is the bound that holds the queue, in words.
	Reason string `json:"reason,omitempty"`
	// DefaultDelaySeconds is the delay of a queue that has none of its own.
	DefaultDelaySeconds float64 `json:"default_delay_seconds,omitempty"`
	Failures            int     `json:"failures,omitempty"` // fetches that failed in a row, as far as this daemon saw them
	// Next is when the state changes by itself, where that is known. For a queue whose URLs are leased, it is set
	// only if the queue was asked for by its name.
	Next time.Time `json:"next,omitzero"`
	Bounds
}

// Queues is the answer of GET /v1/queues.
type Queues struct {
	Queues []Queue `json:"queues"`
	// More is the queue to ask on from, as after; empty at the end.
	More string `json:"more,omitempty"`
	// Partial reports that there are more queues than the daemon looked at, so that one with more waiting URLs
	// may be missing.
	Partial bool `json:"partial,omitempty"`
}

// CrawlProfile is the body of POST /v1/crawl, and its answer: the profile that makes the keys of a crawl, chosen
// before its first URL and permanent.
type CrawlProfile struct {
	Crawl string `json:"crawl,omitempty" maxLength:"200"`
	// Profile is as the flag --profile takes it: whatwg, none, surt. One with a rule file, or of more than 52 bytes,
	// cannot be chosen for a crawl.
	Profile string `json:"profile" minLength:"1" pattern:"^((qiita|whatwg|hashed-n|hashed-p|c14n|scrapy|safebrowsing|surt|none)(:.*)?|purell:.*)$"`
}

// Traps is the answer of GET /v1/traps.
type Traps struct {
	Shadow bool `json:"shadow"` // only counted: no URL is lowered
	// URLs is how many URLs of lowered templates were offered, or put back when they would have been leased, since the
	// start. In shadow mode only those that were offered.
	URLs      int64  `json:"urls"`
	Templates []Trap `json:"templates"` // lowered or lifted, by name
}

// LiftRequest is the body of POST /v1/traps. The answer is a Trap.
type LiftRequest struct {
	Template string `json:"template"` // as GET /v1/traps lists it
	Lifted   *bool  `json:"lifted"`   // true lifts it; false lets its fetches decide again
}

// Declarations is the answer of GET /v1/declared.
type Declarations struct {
	Places []Declared `json:"places"` // by host and path
}

// Declared is what a trusted host declared in one place: a line of the file that keeps it, too.
type Declared struct {
	Host    string          `json:"host"`
	Path    string          `json:"path"` // of the response, "" for the robots.txt of the host
	Entries []DeclaredEntry `json:"entries"`
	Revoked []string        `json:"revoked,omitempty"` // the patterns of entries that an operator took out of use, also of later ones while the host is trusted
}

// DeclaredEntry is an entry of "params" in a rule file.
type DeclaredEntry struct {
	Host    string    `json:"host"`
	Pattern string    `json:"pattern"`
	Drop    []string  `json:"drop,omitempty"`
	Keep    *[]string `json:"keep,omitempty"` // empty keeps nothing
	Source  string    `json:"source"`
}

// RevokeRequest is the body of POST /v1/declared. The answer is a Declared.
type RevokeRequest struct {
	Host    string `json:"host"`
	Path    string `json:"path,omitempty"` // as GET /v1/declared lists it
	Pattern string `json:"pattern"`        // of the entry
	Revoked *bool  `json:"revoked"`        // true takes the entry out of use; false puts it back
}

// BackupRequest is the body of POST /v1/backup. The answer is a Backup.
type BackupRequest struct {
	// Name has letters, digits, dots, hyphens and underscores. The default is the time.
	Name string `json:"name,omitempty" maxLength:"100"`
	// Keep is how many of the latest backups stay; older ones are removed when this one is complete. The default, 0, is
	// all.
	Keep int `json:"keep,omitempty" minimum:"0"`
}

// Backup describes a backup.
type Backup struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"` // when it began: all that was acknowledged before is in it
	Seconds float64   `json:"seconds"` // that it took
	Keys    int64     `json:"keys"`
	Bytes   int64     `json:"bytes"`        // of its files
	Copied  int64     `json:"copied_bytes"` // that it shares with no other directory
	// Removed are the older backups that it replaced. They are not in the note.
	Removed []string `json:"removed,omitempty"`
	// Damaged says why the note cannot be read; the other fields but Name are not set then. Such a backup is neither
	// used nor removed.
	Damaged string `json:"damaged,omitempty"`
}

// Backups is the answer of GET /v1/backup.
type Backups struct {
	Backups []Backup `json:"backups"` // the oldest first
}

// Sample is the state of some counters at a time.
type Sample struct {
	At        time.Time `json:"at"`
	New       float64   `json:"new"`
	Duplicate float64   `json:"duplicate"`
	Refused   float64   `json:"refused"`
	Leased    float64   `json:"leased"`
	Completed float64   `json:"completed"`
	Held      int64     `json:"held"`
	InFlight  int64     `json:"in_flight"`
}

// History is the answer of GET /v1/history: samples of the last hour, the oldest first, and one of now.
type History struct {
	Samples []Sample `json:"samples"`
}

// ReadyQuery is the query of GET /readyz.
type ReadyQuery struct {
	// For asks for one kind of work alone. The default is all of them.
	For string `query:"for" enum:"reads,writes,leases"`
}

// URLsQuery is the query of GET /v1/urls: a Selection.
type URLsQuery struct {
	Crawl         string   `query:"crawl" maxLength:"200"` // or * for all that the token may see; the default is DEFAULT
	Queue         string   `query:"queue" maxLength:"255"`
	State         []string `query:"state"`                 // of queued, scheduled, leased, done and dropped; several with commas
	Reason        []string `query:"reason"`                // for which URLs were dropped; several with commas
	Match         []string `query:"match"`                 // rules that name URLs, as in an ExclusionRequest
	Before        Moment   `query:"before"`                // found before this time, day or age, as in a Selection
	After         Moment   `query:"after"`                 // found then or later
	FetchedBefore Moment   `query:"fetched_before"`        // last fetched or given up before this time, day or age
	FetchedAfter  Moment   `query:"fetched_after"`         // then or later
	Client        string   `query:"client" maxLength:"64"` // leased by it
	LeasedBefore  Moment   `query:"leased_before"`         // whose lease was taken or extended before this time, day or age
	Limit         int64    `query:"limit" minimum:"1"`
	Count         string   `query:"count" allowEmptyValue:"true"` // if given, the answer is the number of URLs
}

// ExclusionsQuery is the query of GET /v1/exclusions.
type ExclusionsQuery struct {
	Crawl string `query:"crawl" maxLength:"200"` // or * for all that the token may see; the default is DEFAULT
}

// OfferQuery is the query of POST /v1/urls and /v1/seen.
type OfferQuery struct {
	// Brief, if given, leaves all but the verdict and the key out of the answers.
	Brief              string `query:"brief" allowEmptyValue:"true"`
	Crawl              string `query:"crawl" maxLength:"200"`                  // of lines that name none; the default is DEFAULT
	Queue              string `query:"queue" maxLength:"255"`                  // of lines without this field
	Priority           int    `query:"priority" minimum:"0" maximum:"7"`       // of lines without this field
	Depth              int    `query:"depth" minimum:"0" maximum:"2147483647"` // of lines without this field
	UnlessFetchedAfter Moment `query:"unless_fetched_after"`                   // of lines without this field
}

// ExportQuery is the query of GET /v1/export.
type ExportQuery struct {
	Crawl string `query:"crawl" maxLength:"200"`       // the default is DEFAULT
	Keys  string `query:"keys" allowEmptyValue:"true"` // if given, only the keys, as a key file
}

// ExplainQuery is the query of GET /v1/explain.
type ExplainQuery struct {
	URL           string `query:"url" required:"true" minLength:"1"`
	Crawl         string `query:"crawl" maxLength:"200"` // the default is DEFAULT
	Queue         string `query:"queue" maxLength:"255"` // of the URL, in a crawl of exact identity
	Discriminator string `query:"discriminator" maxLength:"255"`
}

// StatsQuery is the query of GET /v1/stats.
type StatsQuery struct {
	Crawl string `query:"crawl" maxLength:"200"` // or * for all that the token may see; the default is DEFAULT
}

// QueuesQuery is the query of GET /v1/queues.
type QueuesQuery struct {
	Crawl  string `query:"crawl" maxLength:"200"` // the default is DEFAULT; * stands for all, with order=waiting
	Queue  string `query:"queue"`                 // only the queue of this name
	Search string `query:"search"`                // only queues whose name contains this
	After  string `query:"after"`                 // begin after this queue
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"100"`
	// Order is name, or waiting: those with most URLs that are queued and not leased come first, in one page. The daemon
	// looks at up to 200,000 queues.
	Order string `query:"order" enum:"name,waiting" default:"name"`
}

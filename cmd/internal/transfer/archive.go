// Package transfer puts URLs into crawls. [Read] takes those of whole files: the ones that earlier crawls fetched, as seen, so that a
// new crawl skips them (firstseen import), or all, to be fetched (firstseen add). [Pipe] copies a crawl of another store, and
// [Rekey] makes the keys of a store again, for another profile or Unicode version.
//
// A log names more URLs than were fetched: a crawl.log also lists URLs that were found and never
// fetched, an index also lists failures. If these counted as seen, they would never be fetched.
// So [Read] records only fetches by default, and [Options] can restrict them to statuses. It counts
// every record that it leaves out, by reason.
//
// Read records in batches. Each batch is one durable step, after which Read reports its
// progress to the caller. A [Journal] keeps the progress: an import that was interrupted continues
// where it ended, and of a log that has grown only the new part is read.
package transfer

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
)

// Options select the records that count. The zero value selects what any server answered.
type Options struct {
	// Log modifies reading.
	Log logs.Options
	// Crawl is the crawl to record in. The default is store.DefaultCrawl.
	Crawl string
	// Links also counts URLs that were found and not fetched. The default is false.
	Links bool
	// Statuses are the answers that count. The default is any.
	Statuses Statuses
	// Fill sets more of the link of a record than its URL and crawl, or says in a word why the record is refused. The
	// default is to leave it at that.
	Fill func(u *frontier.Link, r *logs.Record, format logs.Format) (refusal string)
	// Leave says by which filter a URL is left out, or "". The default is to leave none out.
	Leave func(url string) (filter string)
	// Since leaves out earlier fetches, and those whose time is not known. The default is nothing.
	Since time.Time
	// From is how many records to skip because an earlier import recorded them. The
	// default is none.
	From int64
	// Checkpoint is called when everything up to a number of records is durable.
	// The default is none.
	Checkpoint func(records int64) error
}

// Counts count the records of a file by their result.
type Counts struct {
	Format     string           `json:"format"`
	Records    int64            `json:"records"` // read now, those passed over not among them
	Passed     int64            `json:"passed_over"`
	New        int64            `json:"new"`
	Known      int64            `json:"seen_before"`        // or more than once in the file
	Requeued   int64            `json:"requeued,omitempty"` // seen before, and queued again
	Raised     int64            `json:"raised,omitempty"`   // of Known: queued, and more urgent now
	Refused    int64            `json:"refused"`            // no URL that the profile takes
	Reasons    map[string]int64 `json:"refused_for,omitempty"`
	Unreadable int64            `json:"unreadable"`
	NotFetched int64            `json:"left_out_not_fetched"`
	ByStatus   int64            `json:"left_out_by_status"`
	Before     int64            `json:"left_out_before"`
	Other      int64            `json:"left_out_other"` // no request to a web server
	Filtered   map[string]int64 `json:"left_out_by,omitempty"`
	Unsaid     int64            `json:"left_out_without_status,omitempty"` // others of the file have one
	Undated    int64            `json:"left_out_without_time,omitempty"`   // nothing to compare with Options.Since
	// NoStatus counts the records among New, Known and Refused whose format or file has no status.
	NoStatus int64       `json:"without_status"`
	Units    logs.Counts `json:"units"`
	Examples []string    `json:"-"` // refused or unreadable
}

// Recorder records or queues URLs, durably, and answers for each.
type Recorder func(context.Context, []frontier.Link) ([]frontier.Result, error)

// A batch is handed on at batchSize records, or when its URLs have batchText bytes.
const (
	batchSize    = 8192
	batchText    = 4 << 20
	mostExamples = 20
)

// batch is a run of records on its way: the URLs that count, and the counts of the
// others.
type batch struct {
	urls  []frontier.Link
	upTo  int64 // records, from the beginning of the file
	left  Counts
	ended error
}

// Read hands the URLs of a file to record: those that were fetched, unless Options say otherwise. On an error, the URLs that were counted are
// recorded.
func Read(ctx context.Context, f *logs.File, record Recorder, opt Options) (Counts, error) {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan *batch, 1)
	r := &reader{opt: opt, out: batches, done: ctx.Done()}
	go r.run(f)
	defer func() { // the file is the reader's until it ends
		for range batches { //nolint:revive // drained
		}
	}()
	defer cancel()
	total := Counts{}
	for b := range batches {
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		if err := total.take(ctx, b, record, opt.Checkpoint); err != nil {
			return total, err
		}
		if b.ended != nil {
			return total, b.ended
		}
	}
	return total, ctx.Err()
}

// take records a batch and adds its counts.
func (c *Counts) take(ctx context.Context, b *batch, record Recorder, checkpoint func(int64) error) error {
	results, err := record(context.WithoutCancel(ctx), b.urls)
	if err != nil {
		return err
	}
	for i := range results {
		switch r := &results[i]; r.Status {
		case frontier.StatusNew:
			b.left.New++
		case frontier.StatusDuplicate:
			switch {
			case r.Requeued:
				b.left.Requeued++
			case r.Raised:
				b.left.Raised++
				fallthrough
			default:
				b.left.Known++
			}
		default:
			b.left.refuse(string(r.Reason), b.urls[i].URL)
		}
	}
	c.Add(&b.left)
	if checkpoint == nil {
		return nil
	}
	return checkpoint(b.upTo)
}

func (c *Counts) refuse(reason, url string) {
	c.Refused++
	if c.Reasons == nil {
		c.Reasons = map[string]int64{}
	}
	c.Reasons[reason]++
	c.example(fmt.Sprintf("%s: %.200q", reason, url))
}

func (c *Counts) example(text string) {
	if len(c.Examples) < mostExamples {
		c.Examples = append(c.Examples, text)
	}
}

// Add adds the counts of a part.
func (c *Counts) Add(p *Counts) {
	c.Format = p.Format
	for to, n := range map[*int64]int64{
		&c.Records: p.Records, &c.Passed: p.Passed, &c.New: p.New, &c.Known: p.Known, &c.Requeued: p.Requeued, &c.Raised: p.Raised, &c.Refused: p.Refused,
		&c.Unreadable: p.Unreadable, &c.NotFetched: p.NotFetched, &c.ByStatus: p.ByStatus, &c.Before: p.Before, &c.Other: p.Other,
		&c.NoStatus: p.NoStatus, &c.Unsaid: p.Unsaid, &c.Undated: p.Undated,
	} {
		*to += n
	}
	c.Units.Add(&p.Units)
	for to, from := range map[*map[string]int64]map[string]int64{&c.Reasons: p.Reasons, &c.Filtered: p.Filtered} {
		for reason, n := range from {
			if *to == nil {
				*to = map[string]int64{}
			}
			(*to)[reason] += n
		}
	}
	for _, text := range p.Examples {
		c.example(text)
	}
}

// reader gathers records into batches.
type reader struct {
	opt    Options
	out    chan<- *batch
	done   <-chan struct{}
	format logs.Format
	seen   int64
	b      *batch
	text   int // bytes of the batch's URLs
	// answers means that some record of the file has a status, so one without had no answer.
	answers bool
}

func (r *reader) run(f *logs.File) {
	defer close(r.out)
	r.begin()
	if !r.opt.Links {
		if r.answers, r.b.ended = logs.Answers(f, r.opt.Log); r.b.ended != nil {
			r.flush()
			return
		}
	}
	for read, err := range logs.Read(f, r.opt.Log) {
		if err != nil {
			r.b.ended = err
			break
		}
		r.format = read.Format
		r.b.left.Format = string(r.format)
		for rec := range read.All() {
			r.record(&rec)
			if full := r.b.left.Records+r.b.left.Passed >= batchSize || r.text >= batchText; full && !r.flush() {
				return
			}
		}
		if r.seen >= r.opt.From { // refused lines are not in the journal: those of the batch in which it ends are counted again
			r.b.left.Unreadable += read.Counts.Refused
			r.b.left.Records += read.Counts.Refused
			for _, refusal := range read.Refusals {
				r.b.left.example(fmt.Sprintf("%v: %.200q", refusal, refusal.Text))
			}
		}
		r.b.left.Units.Add(&read.Counts)
		read.Release()
	}
	r.flush()
}

func (r *reader) begin() { r.b, r.text = &batch{left: Counts{Format: string(r.format)}}, 0 }

// flush passes a batch on, and reports whether the receiver still reads.
func (r *reader) flush() bool {
	r.b.upTo = r.seen
	select {
	case r.out <- r.b:
		r.begin()
		return true
	case <-r.done:
		return false
	}
}

// passes reports whether an earlier import has recorded a record.
func (r *reader) passes() bool {
	if r.seen++; r.seen <= r.opt.From {
		r.b.left.Passed++
		return true
	}
	r.b.left.Records++
	return false
}

// record decides about a record. A Fetch without a status is of a format or file that has none: the archive or feed has the page, so
// it was fetched, and it is counted apart; a Listed URL of such a file is what the caller says was fetched. What a server did not
// answer is a Link, whatever Statuses take. A fetch without a time may be one before Since: fetching its page once more does less harm than never.
func (r *reader) record(rec *logs.Record) {
	if r.passes() {
		return
	}
	left := &r.b.left
	switch {
	case rec.Kind == logs.Other:
		left.Other++
	case rec.Kind == logs.Link && !r.opt.Links:
		left.NotFetched++
	case rec.Kind == logs.Fetch && rec.Status != 0 && !r.opt.Statuses.Take(rec.Status):
		left.ByStatus++
	case r.answers && rec.Unsaid():
		left.Unsaid++
	case rec.Time.IsZero() && !r.opt.Since.IsZero():
		left.Undated++
	case rec.Time.Before(r.opt.Since):
		left.Before++
	default:
		if r.opt.Leave != nil {
			if filter := r.opt.Leave(rec.URL); filter != "" {
				if left.Filtered == nil {
					left.Filtered = map[string]int64{}
				}
				left.Filtered[filter]++
				return
			}
		}
		u := frontier.Link{URL: rec.URL, Crawl: r.opt.Crawl, SkipFirst: true}
		if r.opt.Fill != nil {
			if refusal := r.opt.Fill(&u, rec, r.format); refusal != "" {
				left.refuse(refusal, rec.URL)
				return
			}
		}
		if rec.Kind == logs.Listed || rec.Kind == logs.Fetch && rec.Status == 0 {
			left.NoStatus++
		}
		r.text += len(rec.URL) + len(u.Meta)
		r.b.urls = append(r.b.urls, u)
	}
}

// Statuses is a set of HTTP statuses: classes, as 2 for 2xx, and single ones. nil has all.
type Statuses map[int]bool

// ParseStatuses reads a set as typed: "2xx,3xx,410", or "all".
func ParseStatuses(s string) (Statuses, error) {
	if s == "all" {
		return nil, nil
	}
	set := Statuses{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		n, err := strconv.Atoi(strings.TrimSuffix(part, "xx"))
		if err != nil || len(part) != 3 || part[0] < '1' || part[0] > '5' {
			return nil, fmt.Errorf("cannot read statuses; got %q; want such as 2xx,3xx,410, or all", s)
		}
		set[n] = true
	}
	return set, nil
}

// Take reports whether a status is in the set.
func (s Statuses) Take(status int) bool {
	return s == nil || status >= 100 && (s[status] || s[status/100])
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/crawllog"
	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/frontier"
)

// Options select the records that count. The zero value selects all fetched URLs, with any
// status.
type Options struct {
	// Log modifies reading.
	Log crawllog.Options
	// Crawl is the crawl to record in. The default is store.DefaultCrawl.
	Crawl string
	// Links also counts URLs that were found and not fetched. Lists and tables, which
	// don't distinguish the two, always count. The default is false.
	Links bool
	// Statuses are the answers that count. The default is any.
	Statuses Statuses
	// Since leaves out earlier fetches. The default is nothing.
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
	Known      int64            `json:"seen_before"` // or more than once in the file
	Refused    int64            `json:"refused"`     // no URL that the profile takes
	Reasons    map[string]int64 `json:"refused_for,omitempty"`
	Unreadable int64            `json:"unreadable"`
	NotFetched int64            `json:"left_out_not_fetched"`
	ByStatus   int64            `json:"left_out_by_status"`
	Before     int64            `json:"left_out_before"`
	Other      int64            `json:"left_out_other"` // no request to a web server
	Examples   []string         `json:"-"`              // refused or unreadable
}

// Recorder records URLs as seen, durably, and answers for each.
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

// Read records the fetched URLs of a file as seen. On an error, the URLs that were counted are
// recorded.
func Read(ctx context.Context, f *input.File, record Recorder, opt Options) (Counts, error) {
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
			b.left.Known++
		default:
			b.left.refuse(string(r.Reason), b.urls[i].URL)
		}
	}
	c.add(&b.left)
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

// add adds the counts of a part.
func (c *Counts) add(p *Counts) {
	c.Format = p.Format
	for to, n := range map[*int64]int64{
		&c.Records: p.Records, &c.Passed: p.Passed, &c.New: p.New, &c.Known: p.Known, &c.Refused: p.Refused,
		&c.Unreadable: p.Unreadable, &c.NotFetched: p.NotFetched, &c.ByStatus: p.ByStatus, &c.Before: p.Before, &c.Other: p.Other,
	} {
		*to += n
	}
	for reason, n := range p.Reasons {
		if c.Reasons == nil {
			c.Reasons = map[string]int64{}
		}
		c.Reasons[reason] += n
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
	format crawllog.Format
	seen   int64
	b      *batch
	text   int // bytes of the batch's URLs
}

func (r *reader) run(f *input.File) {
	defer close(r.out)
	format, records := crawllog.Read(f, r.opt.Log, nil)
	r.format = format
	r.begin()
	for rec, err := range records {
		var line *crawllog.LineError
		switch {
		case errors.As(err, &line):
			r.bad(line)
		case err != nil:
			r.b.ended = err
			r.flush()
			return
		default:
			r.record(&rec)
		}
		if full := r.b.left.Records+r.b.left.Passed >= batchSize || r.text >= batchText; full && !r.flush() {
			return
		}
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

func (r *reader) bad(e *crawllog.LineError) {
	if !r.passes() {
		r.b.left.Unreadable++
		r.b.left.example(fmt.Sprintf("%v: %.200q", e, e.Text))
	}
}

func (r *reader) record(rec *crawllog.Record) {
	if r.passes() {
		return
	}
	left := &r.b.left
	told := r.format != crawllog.List && r.format != crawllog.Table
	switch {
	case rec.Kind == crawllog.Other:
		left.Other++
	case told && rec.Kind == crawllog.Link && !r.opt.Links:
		left.NotFetched++
	case told && rec.Kind == crawllog.Fetch && !r.opt.Statuses.Take(rec.Status):
		left.ByStatus++
	case !rec.Time.IsZero() && rec.Time.Before(r.opt.Since):
		left.Before++
	default:
		r.text += len(rec.URL)
		r.b.urls = append(r.b.urls, frontier.Link{URL: rec.URL, Crawl: r.opt.Crawl, SkipFirst: true})
	}
}

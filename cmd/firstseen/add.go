package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	frontierclient "github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store"
)

// adding queues the URLs of files: as a crawler would, through the HTTP interface of a daemon or its handlers in this process.
type adding struct {
	place    place
	profile  profileFlags
	log      logFlags
	filters  filterFlags
	queue    string
	priority int
	depth    int
	force    bool
	raise    bool
	after    time.Time // of the last fetch
	skip     bool      // traps

	priorityField, depthField string
	metaFields                []string
	js                        bool
	leave                     func(url string) (filter string) // nil for no filter

	asked  []string        // fields that the flags name
	fields []string        // of a record: ownFields, and then those
	at     map[string]int  // places in fields
	found  map[string]bool // fields that some record had

	added, known atomic.Int64 // for the progress line
}

func newAddCmd(a *app) *cobra.Command {
	f := &adding{}
	cmd := &cobra.Command{
		Use:   "add (--db DIR | --redis ADDR | --daemon ADDR) [FILE…]",
		Short: "Queue the URLs of lists, tables, sitemaps, logs and archives to be fetched",
		Long: `Queue the URLs of files to be fetched. FILE is a list of URLs, a table, JSON lines, a sitemap, or any log or
archive that "firstseen uniq" reads, plain or compressed; without one, standard input is read. The store of
--db is created if it does not exist.

A URL that was seen in the crawl is a duplicate, and stays as it is; --force queues it again, and --unless-fetched-after
does if that is long enough ago. So after an interruption the same command goes on, and queues nothing twice.

Sitemaps say how important a page is: their priority of 0.0 to 1.0 becomes 0 to 6, and their lastmod is kept
as metadata. No trap is looked for in what a site lists itself. Other formats have --priority-field,
--depth-field and --meta-field, which name columns of a table or fields of JSON.

For each file a line says what became of its URLs. The status is 1 if some were refused.`,
		Example: `  firstseen add --db crawl.db --crawl news seeds.txt
  firstseen add --daemon 127.0.0.1:7072 sitemap.xml.gz
  firstseen add --db crawl.db --priority-field rank --meta-field title,section pages.csv
  gau example.com | firstseen add --db crawl.db --depth 1`,
		Args: cobra.ArbitraryArgs,
	}
	f.place.fresh = f.prepare
	cmd.PreRunE = running(func(_ *cobra.Command, args []string) error { // before a store is made
		if err := f.check(); err != nil {
			return err
		}
		return someExist(args)
	})
	f.place.onCrawl(a, cmd, func(ctx context.Context, c *client, args []string) error {
		if len(args) == 0 {
			args = []string{"-"}
		}
		return f.run(ctx, a, c, args)
	})
	fs := cmd.Flags()
	fs.Lookup("crawl").Usage = "crawl that the URLs are of; a new name begins a new crawl"
	fs.Lookup("db").Usage = "directory of the store; created if it does not exist"
	fs.StringVar(&f.queue, "queue", "", "queue for all URLs; default: that of their host")
	number(fs, &f.priority, "priority", 0, 0, store.MaxPriority, "priority of URLs whose file says none: 0 to 7, higher first; 7 is urgent: before the URLs of other queues")
	number(fs, &f.depth, "depth", 0, 0, 0, "number of links from a seed, of URLs whose file says none")
	fs.StringVar(&f.priorityField, "priority-field", "", "column or field with the priority: 0 to 7, or 0.0 to 1.0 as sitemaps have it")
	fs.StringVar(&f.depthField, "depth-field", "", "column or field with the number of links from a seed")
	fs.StringSliceVar(&f.metaFields, "meta-field", nil, "columns or fields to keep as metadata, under their names; NAME=COLUMN gives one another name; of a list of JSON, or a text that is one, each value")
	fs.BoolVar(&f.raise, "raise", false, "give URLs that are queued already the priority, if it is higher than theirs")
	fs.BoolVar(&f.force, "force", false, "queue URLs again that were seen before")
	moment(fs, &f.after, "unless-fetched-after", "queue URLs again that were done or dropped before an age as 7d or 12h, a day as 2026-01-31, or a time")
	fs.BoolVar(&f.skip, "skip-traps", false, "queue URLs that look like those of crawler traps; sitemaps have it anyway")
	fs.BoolVar(&f.js, "json", false, "write one JSON object a file")
	f.log.addKept(fs, "format")
	f.filters.add(fs)
	f.profile.add(fs)
	cmd.MarkFlagsMutuallyExclusive("force", "unless-fetched-after")
	typed(fs, "force", "unless-fetched-after")
	return cmd
}

// prepare makes a store that has no keys yet one for the profile of the flags, and refuses another profile of one that has some.
func (f *adding) prepare(s store.Store, log *slog.Logger) (*frontier.Frontier, error) {
	if s.Identity().Profile != "" && f.profile == (profileFlags{profile: "qiita"}) {
		return nil, nil // the store names its profile
	}
	base, with, _, err := f.profile.both()
	if err != nil {
		return nil, err
	}
	return newFrontier(s, base, with, frontier.Options{Logger: log})
}

func (f *adding) check() error {
	return refuse("add URLs",
		mistake{f.place.crawl == "*", `--crawl "*"`, "the name of one crawl"},
		mistake{f.place.daemon.given() && f.profile != profileFlags{profile: "qiita"}, "--profile, --rules or --rule-file with --daemon", "it without them: the daemon's store has a profile"},
	)
}

// someExist returns an error if there is none of the files.
func someExist(names []string) error {
	var errs []error
	for _, name := range names {
		_, err := os.Stat(name)
		if err == nil || name == "-" {
			return nil
		}
		errs = append(errs, fmt.Errorf("cannot open %s: %w", name, errors.Unwrap(err)))
	}
	return errors.Join(errs...)
}

// ownFields are those of a sitemap, priority and lastmod, and those of a list that find --json wrote.
var ownFields = []string{"priority", "lastmod", "key", "state", "queue", "depth", "discriminator", "metadata", "meta", "url_bytes", "due"}

// chooseFields lists the fields to be read.
func (f *adding) chooseFields() {
	for _, name := range []string{f.priorityField, f.depthField} {
		if name != "" {
			f.asked = append(f.asked, name)
		}
	}
	for _, field := range f.metaFields {
		f.asked = append(f.asked, columnOf(field))
	}
	f.fields = append(slices.Clone(ownFields), f.asked...)
	f.at, f.found = map[string]int{"": len(f.fields)}, map[string]bool{}
	for i, name := range f.fields {
		f.at[name] = i
	}
}

// columnOf is the column that a value of --meta-field names, COLUMN or NAME=COLUMN.
func columnOf(field string) string {
	if _, column, renamed := strings.Cut(field, "="); renamed {
		return column
	}
	return field
}

func (f *adding) run(ctx context.Context, a *app, c *client, names []string) error {
	f.chooseFields()
	var err error
	if f.leave, err = f.filters.leave(); err != nil {
		return err
	}
	to, err := c.frontier(ctx, a.log, f.place.crawl)
	if err != nil {
		return err
	}
	files := &fileSet{stdin: a.in}
	var all transfer.Counts
	errs := []error{files.each(ctx, a.err, names, func(passed time.Duration) string {
		return fmt.Sprintf("%s new, %s, %s", grouped(f.added.Load()), plural(f.known.Load(), "duplicate"), files.inputLine(passed))
	}, func(name string) error {
		counts, err := f.file(ctx, a, files, name, to)
		all.Add(counts)
		return err
	})}
	for _, field := range f.asked {
		if !f.found[field] && all.Records > 0 {
			fmt.Fprintf(a.err, "firstseen: no URL has anything in the field %q\n", field)
		}
	}
	if len(names) > 1 && !f.js {
		errs = append(errs, f.tell(a, fmt.Sprintf("%d files", len(names)), &all, ""))
	}
	return worst(append(errs, to.Close())...)
}

// file adds the URLs of a file.
func (f *adding) file(ctx context.Context, a *app, files *fileSet, name string, to *frontierclient.Client) (*transfer.Counts, error) {
	in, err := files.open(ctx, name)
	if err != nil {
		return &transfer.Counts{}, err
	}
	defer files.done(in)
	opt := transfer.Options{Log: f.log.options(), Crawl: f.place.crawl, Links: true, Fill: f.fill, Leave: f.leave}
	opt.Log.Events, opt.Log.Fields, opt.Log.Must = logs.All, f.fields, f.asked
	counts, err := transfer.Read(ctx, in, func(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		results, err := to.AddBatch(ctx, urls)
		if err != nil {
			return nil, endsAll{fmt.Errorf("cannot add URLs: %w", err)}
		}
		for i := range results {
			switch results[i].Status {
			case frontier.StatusNew:
				f.added.Add(1)
			case frontier.StatusDuplicate:
				f.known.Add(1)
			}
		}
		return results, nil
	}, opt)
	told := f.tell(a, name, &counts, counts.Format)
	return &counts, a.endFile(ctx, name, &counts, "add", "queued; the same command goes on, and queues nothing twice", err, told)
}

// fill sets what a file and the flags say of a URL.
func (f *adding) fill(u *frontier.Link, r *logs.Record, format logs.Format) (refusal string) {
	u.Queue, u.Priority, u.Depth, u.Force, u.SkipTraps, u.UnlessFetchedAfter, u.Raise = f.queue, uint8(f.priority), f.depth, f.force, f.skip, f.after, f.raise
	meta := map[string][]string{}
	value := func(field string) string {
		i := f.at[field]
		if i >= len(r.Fields) || r.Fields[i] == "" {
			return ""
		}
		f.found[field] = true
		return r.Fields[i]
	}
	if format == logs.Sitemap {
		u.SkipTraps = true
		if share, err := strconv.ParseFloat(value("priority"), 64); err == nil { // without one a page is as important as any other
			u.Priority = ofShare(min(max(share, 0), 1))
		}
		if when := value("lastmod"); when != "" {
			meta["lastmod"] = []string{when}
		}
	}
	if len(value("key")) == 2*len(store.Key{}) && slices.Contains(frontier.QueryStates(), frontier.QueryState(value("state"))) {
		if !f.fillFound(u, value, meta) {
			return "metadata"
		}
	}
	if text := value(f.priorityField); text != "" {
		var ok bool
		if u.Priority, ok = parsePriority(text); !ok {
			return "priority"
		}
	}
	if text := value(f.depthField); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return "depth"
		}
		u.Depth = int(n)
	}
	for _, field := range f.metaFields {
		name, _, _ := strings.Cut(field, "=")
		if text := value(columnOf(field)); text != "" {
			meta[name] = append(meta[name], valuesOf(text, format)...)
		}
	}
	if len(meta) > 0 && u.Meta == nil {
		u.Meta = server.AppendMetadata(nil, meta)
	}
	return ""
}

// valuesOf returns the values of a field: of a list of JSON its elements.
func valuesOf(text string, format logs.Format) (values []string) {
	var list []json.RawMessage
	if format != logs.JSON || !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &list) != nil {
		return []string{text}
	}
	for _, raw := range list {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		values = append(values, s)
	}
	return values
}

// fillFound sets what a line of find --json says of a URL, so that the list queues each as it was.
func (f *adding) fillFound(u *frontier.Link, value func(string) string, meta map[string][]string) bool {
	if n, ok := parsePriority(value("priority")); ok {
		u.Priority = n
	}
	if n, err := strconv.ParseUint(value("depth"), 10, 31); err == nil {
		u.Depth = int(n)
	}
	u.Queue = cmp.Or(f.queue, value("queue"))
	u.Discriminator = value("discriminator")
	u.Due, _ = time.Parse(time.RFC3339, value("due")) // one that is not scheduled has none
	ok := true
	if text := value("metadata"); text != "" {
		ok = json.Unmarshal([]byte(text), &meta) == nil
	}
	for field, to := range map[string]func([]byte){"meta": func(b []byte) { u.Meta = b }, "url_bytes": func(b []byte) { u.URL = string(b) }} {
		if text := value(field); text != "" {
			b, err := base64.StdEncoding.DecodeString(text)
			if ok = ok && err == nil; err == nil {
				to(b)
			}
		}
	}
	return ok
}

// parsePriority reads a priority as a store has it, or as sitemaps do, with a decimal point.
func parsePriority(text string) (uint8, bool) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil {
		return uint8(n), n <= store.MaxPriority
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, false
	}
	return ofShare(share), true
}

// ofShare returns the priority of a page that is so important to its site, which may not make it urgent.
func ofShare(share float64) uint8 { return uint8(math.Round(share * (store.Urgent - 1))) }

// addedFile is the answer for a file.
type addedFile struct {
	File       string           `json:"file"`
	Format     string           `json:"format"`
	Records    int64            `json:"records"`
	New        int64            `json:"new"`
	Duplicates int64            `json:"duplicates"`
	Requeued   int64            `json:"requeued"`
	Raised     int64            `json:"raised,omitempty"` // of the duplicates
	Refused    int64            `json:"refused"`
	RefusedFor map[string]int64 `json:"refused_for,omitempty"`
	Unreadable int64            `json:"unreadable"`
	Other      int64            `json:"left_out_other"`
	Filtered   map[string]int64 `json:"left_out_by,omitempty"`
	Units      logs.Counts      `json:"units"`
}

func (f *adding) tell(a *app, name string, c *transfer.Counts, format string) error {
	out := newOutput(a.out)
	if f.js {
		out.json(addedFile{name, c.Format, c.Records, c.New, c.Known, c.Requeued, c.Raised, c.Refused, c.Reasons, c.Unreadable, c.Other, c.Filtered, c.Units})
		return endOutput(out, 0)
	}
	if format != "" {
		name += ": " + format
	}
	parts := append([]string{grouped(c.New) + " new", plural(c.Known, "duplicate")},
		partTexts(part{c.Raised, "of them raised"}, part{c.Requeued, "queued again"}, part{c.Refused, "refused"}, part{c.Unreadable, "unreadable"}, part{c.Other, "of other kinds"})...)
	for _, filter := range slices.Sorted(maps.Keys(c.Filtered)) {
		parts = append(parts, grouped(c.Filtered[filter])+" left out by "+filter)
	}
	out.line(fmt.Sprintf("%s, %s: %s", name, plural(c.Records, "record"), strings.Join(parts, ", ")))
	return endOutput(out, 0)
}

// frontier returns a client of crawlers at the same place, for a crawl: a token may be for that alone. It sends again what a daemon that restarts did not answer.
func (c *client) frontier(ctx context.Context, log *slog.Logger, crawl string) (*frontierclient.Client, error) {
	if err := c.get(ctx, "/v1/stats", url.Values{"crawl": {crawl}}, &struct{}{}); err != nil { // checks the crawl and the token first, with better errors than the client's
		return nil, err
	}
	opt := frontierclient.Options{Addr: strings.TrimPrefix(strings.TrimPrefix(c.base, "http://"), "https://"), Token: c.token, Crawl: crawl, Transport: c.http.Transport, Logger: log}
	if transport, ok := c.http.Transport.(*http.Transport); ok && strings.HasPrefix(c.base, "https://") {
		opt.TLS = transport.TLSClientConfig
	}
	return frontierclient.Open(ctx, opt)
}

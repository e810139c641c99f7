package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

// importFlags choose the records to import.
type importFlags struct {
	db, notes, crawl       string
	redis                  redisFlags
	profile                profileFlags
	log                    logFlags
	statuses, since        string
	links, keep, again, js bool
}

// importRun is an import of files. It opens the store when the first file turns out to be one
// that can be imported, so a mistyped name makes no store.
type importRun struct {
	importFlags
	a       *app
	base    *canon.Profile // without the rule file
	profile *canon.Profile
	opt     transfer.Options
	files   *fileSet

	store   store.Store // nil until it is open
	front   *frontier.Frontier
	journal *transfer.Journal
}

func newImportCmd(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import (--db DIR | --redis ADDR) FILE…",
		Short: "Record the URLs that earlier crawls fetched as seen, so that a new crawl skips them",
		Long: `Record the URLs that earlier crawls fetched as seen, so that a new crawl skips them. FILE is an
index, archive or log: CDX, CDXJ, WARC, ARC, WACZ, Heritrix crawl.log, Nutch dumps, Scrapy feeds
and logs, any other format of "firstseen replay", plain or compressed, or a key file of
"firstseen export"; "-" is stdin. The store is created if it does not exist. No daemon may run on
a store on disk during the import. Daemons on a store in Redis can continue.

A URL counts as fetched if its answer has a status of --status, or is a revisit. URLs that a log
only found, or could not fetch, stay new, also where only words such as "failed" say so, or where
one other line of a list, a table or JSON has a status. These are read twice if none has one: from a
pipe, everything is kept in TMPDIR first. URLs that are queued in the crawl stay queued. Lists of
hosts need --scheme, logs of paths --base, and what can be read in two ways --format or --url-field.

The progress of each file is noted in the directory of the store, or with --redis in that of
--notes. So the same command continues after an interruption, skips finished files, and reads only
the new part of a log that has grown. With flags that choose other records it reads the whole file.
--again ignores the notes. Without notes everything is read again, which does no harm.`,
		Example: `  firstseen import --db crawl.db --crawl news indexes/*.cdxj.gz crawl.log
  firstseen import --db crawl.db --since 2026-01-01 --status 2xx archive.warc.gz
  firstseen import --db new.db crawl.keys
  firstseen import --redis 10.0.0.1:6379 --notes imported crawl.keys *.cdxj.gz`,
		Args: someFiles,
		RunE: running(func(cmd *cobra.Command, args []string) error {
			if err := f.redis.notWith(cmd.Flags(), "db"); err != nil {
				return err
			}
			return f.run(cmd.Context(), a, args)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.db, "db", "", "directory of the store; created if it does not exist")
	fs.StringVar(&f.notes, "notes", "", "directory for the notes on imported files; default: the store's, and none with --redis")
	fs.StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl to import into")
	fs.StringVar(&f.statuses, "status", "2xx,3xx", "statuses that count as fetched, if the log has them, such as 2xx,3xx,410; or all")
	fs.StringVar(&f.since, "since", "", "ignore fetches before a day, or before a time as 2026-01-31T12:00:00Z, and those without a time")
	fs.BoolVar(&f.links, "links", false, "also record URLs that were found and not fetched")
	fs.BoolVar(&f.keep, "keep-urls", false, "keep the text of the URLs, as completed URLs: for export --urls and --hashed-uri")
	fs.BoolVar(&f.again, "again", false, "read files that were imported before from their beginning")
	fs.BoolVar(&f.js, "json", false, "write one JSON object a file")
	f.log.addKept(fs, "format")
	f.profile.add(fs)
	f.redis.add(fs)
	return cmd
}

func (f *importFlags) run(ctx context.Context, a *app, names []string) error {
	if f.db == "" && !f.redis.given() {
		return misusef("cannot import; got neither --db nor --redis; want one of them")
	}
	opt, err := f.options()
	if err != nil {
		return err
	}
	base, p, _, err := f.profile.both()
	if err != nil {
		return err
	}
	r := &importRun{importFlags: *f, a: a, base: base, profile: p, opt: opt, files: &fileSet{stdin: a.in}}
	err = r.files.each(ctx, a.err, names, r.files.inputLine, func(name string) error { return r.file(ctx, name) })
	return worst(err, r.close())
}

func (f *importFlags) options() (opt transfer.Options, err error) {
	f.log.events = "" // the kind of a record decides
	opt = transfer.Options{Log: f.log.options(), Crawl: f.crawl, Links: f.links}
	if opt.Statuses, err = transfer.ParseStatuses(f.statuses); err != nil {
		return opt, misuse{err}
	}
	if f.keep { // what was fetched is due no more: the field has the time of the fetch, for record
		opt.Fill = func(u *frontier.Link, r *logs.Record, _ logs.Format) string {
			u.Due = r.Time
			return ""
		}
	}
	if f.since != "" {
		if opt.Since, err = parseMoment(f.since); err != nil {
			return opt, misuse{err}
		}
	}
	return opt, nil
}

// how describes all that decides which records are recorded, and where: the notes on an
// import hold for others of the same. Notes of their own directory may be of many stores.
func (f *importFlags) how() string {
	how := fmt.Sprintf("status %q since %q links %v keep-urls %v format %q base %q url-field %q scheme %q",
		f.statuses, f.since, f.links, f.keep, f.log.format, f.log.base, f.log.field, f.log.scheme)
	switch {
	case f.notes == "":
		return how
	case f.redis.given():
		p, _ := f.redis.place() // open has returned its error
		return how + fmt.Sprintf(" into %q %q", p.addrs, p.prefix)
	}
	db, err := filepath.Abs(f.db)
	if err != nil {
		db = f.db // there is no working directory to confuse it with
	}
	return how + fmt.Sprintf(" into %q", db)
}

// open opens the store, the first time.
func (r *importRun) open(ctx context.Context) error {
	if r.store != nil {
		return nil
	}
	s, err := createStore(ctx, r.a, r.db, &r.redis, r.keep)
	if err != nil {
		return endsAll{err}
	}
	front, err := newFrontier(s, r.base, r.profile, frontier.Options{Traps: frontier.Traps{Off: true}})
	if err != nil {
		return endsAll{errors.Join(err, s.Close())}
	}
	journal, err := transfer.OpenJournal(cmp.Or(r.notes, r.db))
	if err != nil {
		return endsAll{errors.Join(err, front.Close(), s.Close())}
	}
	r.store, r.front, r.journal = s, front, journal
	return nil
}

func (r *importRun) close() error {
	if r.store == nil {
		return nil
	}
	return errors.Join(r.journal.Close(), r.front.Close(), r.store.Close())
}

// file imports a file, and reports what became of it.
func (r *importRun) file(ctx context.Context, name string) error {
	file, err := r.files.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.files.done(file)
	head := file.Peek(256)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted before %s was read", name)
	case isScrapySeen(head):
		return fmt.Errorf("cannot import %s; got Scrapy's requests.seen: one-way fingerprints, which name no URL; want its log, a feed or an archive (docs/LOGS.md)", name)
	case bytes.HasPrefix(head, []byte(crawlfile.KeysMagic)):
		if err := r.open(ctx); err != nil {
			return err
		}
		return r.keys(ctx, name, file)
	case bytes.HasPrefix(head, []byte(crawlfile.Magic)):
		return fmt.Errorf("cannot import %s; got a file of firstseen copy; run: firstseen copy --from-file %s --to-db DIR", name, quoted(name))
	}
	if _, err := logs.Detect(file, r.opt.Log); err != nil { // before a store is made for it
		return refusal(r.a, fmt.Errorf("cannot import: %w", err))
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.records(ctx, name, file)
}

// refusal returns what an error does to the exit status: input of the wrong kind was refused, any other is a failure.
func refusal(a *app, err error) error {
	if !errors.Is(err, logs.ErrFormat) {
		return err
	}
	fmt.Fprintf(a.err, "firstseen: %v\n", err)
	return errRefused
}

// scrapySeen is the older form of requests.seen; the newer one is of binary digests,
// each after its length.
var scrapySeen = regexp.MustCompile(`^[0-9a-f]{40}\r?\n`)

func isScrapySeen(head []byte) bool {
	return scrapySeen.Match(head) || len(head) >= 24 && bytes.HasPrefix(head, []byte{0, 20}) && bytes.Equal(head[22:24], []byte{0, 20})
}

func (r *importRun) keys(ctx context.Context, name string, file *logs.File) error {
	reader := bufio.NewReaderSize(file.Reader(), 1<<17)
	head, err := reader.Peek(reader.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	id, err := crawlfile.IdentityOf(bytes.NewReader(head))
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	to, err := crawlInto(ctx, r.store, r.crawl, id, false)
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	n, err := crawlfile.Import(ctx, reader, r.store, to.Stored, crawlfile.ImportOptions{Identity: to.Identity})
	if err != nil {
		return fmt.Errorf("cannot import %s; after %s, %s of them new: %w", name, plural(n.Keys, "key"), grouped(n.New), err)
	}
	return r.tell(fmt.Sprintf("%s: %s, %s of them new", name, plural(n.Keys, "key"), grouped(n.New)),
		importedFile{File: name, Counts: transfer.Counts{Format: "keys", Records: n.Keys, New: n.New, Known: n.Keys - n.New}})
}

func (r *importRun) records(ctx context.Context, name string, file *logs.File) error {
	part, from, whole := r.journal.Begin(name, r.crawl, r.how(), r.again)
	if whole {
		return r.tell(name+": imported before", importedFile{File: name, Whole: true})
	}
	opt := r.opt
	opt.From, opt.Checkpoint = from, part.Checkpoint
	began := time.Now()
	counts, err := transfer.Read(ctx, file, r.record(), opt)
	err = errors.Join(err, part.End(err == nil))
	told := r.tell(importedText(name, &counts), importedFile{File: name, Counts: counts, Seconds: time.Since(began).Seconds()})
	return r.a.endFile(ctx, name, &counts, "import", "recorded; the same command goes on from there", err, told)
}

// endFile reports the lines of a file that were not used, and returns the error for the exit status: err from reading, or told from
// printing the counts. what names the action, and done the state after an interruption.
func (a *app) endFile(ctx context.Context, name string, counts *transfer.Counts, what, done string, err, told error) error {
	units, examples := counts.Units, counts.Examples
	if units.Lost() && len(examples) > 0 {
		units.Examples, examples = examples, nil
	}
	tellUnits(a.err, name, &units)
	for _, text := range examples {
		fmt.Fprintf(a.err, "%s: %s\n", name, text)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(fmt.Errorf("interrupted in %s: what is counted is %s", name, done), told)
	case err != nil:
		return worst(refusal(a, fmt.Errorf("cannot %s all of %s: %w", what, name, err)), told)
	case told == nil && counts.Refused+counts.Unreadable > 0:
		return errRefused
	}
	return told
}

// record returns the function that records URLs: as seen, or with their text as completed.
func (r *importRun) record() transfer.Recorder {
	if !r.keep {
		return r.front.See
	}
	return func(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		known := make([]frontier.Known, len(urls))
		for n := range urls {
			known[n] = frontier.Known{Link: urls[n], Outcome: frontier.Release, At: urls[n].Due} // not fetched by this crawl
			known[n].Due = time.Time{}
		}
		return r.front.Put(ctx, known)
	}
}

// importedFile is the answer for a file.
type importedFile struct {
	File string `json:"file"`
	transfer.Counts
	Whole   bool    `json:"imported_before,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (r *importRun) tell(text string, file importedFile) error {
	out := newOutput(r.a.out)
	if r.js {
		out.json(file)
	} else {
		out.line(text)
	}
	return endOutput(out, 0)
}

// importedText says in a line what became of a file's records.
func importedText(name string, c *transfer.Counts) string {
	text := fmt.Sprintf("%s: %s, %s, %s new, %s seen before", name, c.Format, plural(c.Records, "record"), grouped(c.New), grouped(c.Known))
	left := partTexts(part{c.Passed, "done before"}, part{c.ByStatus, "left out by status"}, part{c.NotFetched, "not fetched"}, part{c.Before, "left out by time"},
		part{c.Unsaid, "left out without a status, since others in the file have one"}, part{c.Undated, "left out without a time for --since"},
		part{c.Other, "of other kinds"}, part{c.Refused, "refused"}, part{c.Unreadable, "unreadable"})
	if c.NoStatus > 0 {
		left = append(left, grouped(c.NoStatus)+" without a status recorded as fetched, since the file does not say what was answered")
	}
	if len(left) == 0 {
		return text
	}
	return text + "; " + strings.Join(left, ", ")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/archive"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
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
only found, or could not fetch, stay new, also where only words such as "failed" say so. URLs that are
queued in the crawl stay queued. Lists of hosts need --scheme, logs of paths --base, and what can be read
in two ways --format or --url-field.

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
	fs.StringVar(&f.since, "since", "", "ignore fetches before a day, or before a time as 2026-01-31T12:00:00Z")
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
	p, err := f.profile.open()
	if err != nil {
		return err
	}
	r := &importRun{a: a, flags: f, profile: p, opt: opt, files: &fileSet{stdin: a.in}}
	return worst(r.run(ctx, names), r.close())
}

func (f *importFlags) openStore(ctx context.Context, a *app) (store.Store, error) {
	if f.redis.given() {
		return f.redis.open(ctx, a.log, redisstore.Options{KeepURLs: f.keep})
	}
	return pebblestore.Open(f.db, pebblestore.Options{KeepURLs: f.keep, Logger: a.log})
}

func (f *importFlags) options() (opt archive.Options, err error) {
	if err = f.log.check(); err != nil {
		return opt, err
	}
	f.log.events = "" // the kind of a record decides
	opt = archive.Options{Log: f.log.options(), Crawl: f.crawl, Links: f.links}
	if opt.Statuses, err = archive.ParseStatuses(f.statuses); err != nil {
		return opt, misuse{err}
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

// importer imports files into one store.
type importer struct {
	a       *app
	flags   *importFlags
	store   store.Store
	front   *frontier.Frontier
	journal *archive.Journal
	opt     archive.Options
}

// scrapySeen is the older form of requests.seen; the newer one is of binary digests,
// each after its length.
var scrapySeen = regexp.MustCompile(`^[0-9a-f]{40}\r?\n`)

func isScrapySeen(head []byte) bool {
	return scrapySeen.Match(head) || len(head) >= 24 && bytes.HasPrefix(head, []byte{0, 20}) && bytes.Equal(head[22:24], []byte{0, 20})
}

func (i *importer) keys(ctx context.Context, name string, file *logs.File) error {
	reader := bufio.NewReaderSize(file.Reader(), 1<<17)
	head, err := reader.Peek(reader.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	id, err := crawlfile.IdentityOf(bytes.NewReader(head))
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	to, err := crawlInto(ctx, i.store, i.flags.crawl, id, false)
	if err != nil {
		return fmt.Errorf("cannot import %s: %w", name, err)
	}
	n, err := crawlfile.Import(ctx, reader, i.store, to.Stored, crawlfile.ImportOptions{Identity: to.Identity})
	if err != nil {
		return fmt.Errorf("cannot import %s; %s keys were read, %s of them new: %w", name, grouped(n.Keys), grouped(n.New), err)
	}
	return i.tell(fmt.Sprintf("%s: %s keys, %s of them new", name, grouped(n.Keys), grouped(n.New)),
		importedFile{File: name, Counts: archive.Counts{Format: "keys", Records: n.Keys, New: n.New, Known: n.Keys - n.New}})
}

func (i *importer) log(ctx context.Context, name string, file *logs.File) error {
	part, from, whole := i.journal.Begin(name, i.flags.crawl, i.flags.how())
	if i.flags.again {
		from, whole = 0, false
	}
	if whole {
		return i.tell(name+": imported before", importedFile{File: name, Whole: true})
	}
	opt := i.opt
	opt.From, opt.Checkpoint = from, part.Checkpoint
	began := time.Now()
	counts, err := archive.Read(ctx, file, i.record(), opt)
	err = errors.Join(err, part.End(err == nil))
	told := i.tell(importedText(name, &counts), importedFile{File: name, Counts: counts, Seconds: time.Since(began).Seconds()})
	tellUnits(i.a.err, name, &counts.Units)
	for _, text := range counts.Examples {
		fmt.Fprintf(i.a.err, "%s: %s\n", name, text)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(fmt.Errorf("interrupted in %s: what is counted is recorded, and the same command goes on from there", name), told)
	case err != nil:
		return worst(refusal(i.a, fmt.Errorf("cannot import all of %s: %w", name, err)), told)
	case told == nil && counts.Refused+counts.Unreadable > 0:
		return errRefused
	}
	return told
}

// record returns the function that records URLs: as seen, or with their text as completed.
func (i *importer) record() archive.Recorder {
	if !i.flags.keep {
		return i.front.See
	}
	return func(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
		known := make([]frontier.Known, len(urls))
		for n := range urls {
			known[n].Link, known[n].Outcome = urls[n], frontier.Release // not fetched by this crawl
		}
		return i.front.Put(ctx, known)
	}
}

// importedFile is the answer for a file.
type importedFile struct {
	File string `json:"file"`
	archive.Counts
	Whole   bool    `json:"imported_before,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (i *importer) tell(text string, file importedFile) error {
	out := newOutput(i.a.out)
	if i.flags.js {
		out.json(file)
	} else {
		out.line(text)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write output: %w", err)
	}
	return nil
}

// importedText says in a line what became of a file's records.
func importedText(name string, c *archive.Counts) string {
	text := fmt.Sprintf("%s: %s, %s records, %s new, %s seen before", name, c.Format, grouped(c.Records), grouped(c.New), grouped(c.Known))
	var left []string
	for _, part := range []struct {
		n    int64
		what string
	}{
		{c.Passed, "done before"}, {c.ByStatus, "left out by status"}, {c.NotFetched, "not fetched"}, {c.Before, "left out by time"},
		{c.Other, "of other kinds"}, {c.Refused, "refused"}, {c.Unreadable, "unreadable"},
	} {
		if part.n > 0 {
			left = append(left, grouped(part.n)+" "+part.what)
		}
	}
	if c.NoStatus > 0 {
		left = append(left, grouped(c.NoStatus)+" without a status recorded as fetched, since the file does not say what was answered")
	}
	if len(left) == 0 {
		return text
	}
	return text + "; " + strings.Join(left, ", ")
}

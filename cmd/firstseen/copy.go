package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/redisstore"
)

// copyFlags say from where to where.
type copyFlags struct {
	crawl, toCrawl     string
	fromDB, fromFile   string
	toDB, toFile       string
	fromRedis, toRedis []string
	daemon             daemonFlags
	keepURLs, asJSON   bool
}

func newCopyCmd(a *app) *cobra.Command {
	var f copyFlags
	cmd := &cobra.Command{
		Use:   "copy (--from-db DIR | --from-redis ADDR | --daemon ADDR | --from-file FILE) (--to-db DIR | --to-redis ADDR | --to-file FILE)",
		Short: "Copy a crawl to another store, disk to Redis or back, or to a file",
		Long: `Copy a whole crawl: the queued URLs with their data, due times and priorities, when the others
were completed or dropped, every key seen, and the settings and exclusions of the crawl and its queues. The copy continues where the crawl was, paused if the crawl is; leased URLs are queued
again. The source does not change. Stop its daemon first, or ask it with --daemon after
"firstseen set --crawl NAME --paused", when its leases have ended: otherwise both fetch the same URLs, and the command warns.

If a copy breaks off, run the same command again; nothing is done twice. URLs that were added to the new store since then are not affected.
A crawl that exists keeps its settings and exclusions, and so does a queue that has settings: the command prints what the crawl of the source has otherwise.

A crawl with a profile of its own keeps it in the other store. From a file, the target must be a
crawl with that profile: an existing one, or a new one that you name with the profile, as in
--to-crawl "news|whatwg@2".

Not copied are: when a URL was found (in the new store, when it was copied), counts of attempts and of
URLs dropped after a failure, the text of completed and dropped URLs if the store does not keep it (their keys are copied), and what is set for all
crawls of the source, or what Redis cannot keep (groups, if the store is made without): at the end, the command prints how to set that in the target.`,
		Example: `  firstseen copy --from-db crawl.db --to-redis 10.0.0.1:6379,10.0.0.2:6379
  firstseen copy --from-redis 10.0.0.1:6379 --to-db crawl.db
  firstseen copy --from-db crawl.db --to-file crawl.fs && firstseen copy --from-file crawl.fs --to-redis 10.0.0.1:6379`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl to copy")
	fs.StringVar(&f.toCrawl, "to-crawl", "", "name of the crawl in the copy; default: that of --crawl")
	fs.StringVar(&f.fromDB, "from-db", "", "directory of the store to copy from")
	fs.StringSliceVar(&f.fromRedis, "from-redis", nil, "store in Redis to copy from: "+redisSyntax)
	fs.StringVar(&f.fromFile, "from-file", "", "file to copy from: of this command, or a key file")
	f.daemon.add(fs)
	fs.StringVar(&f.toDB, "to-db", "", "directory of the store to copy to; created if it does not exist")
	fs.StringSliceVar(&f.toRedis, "to-redis", nil, "store in Redis to copy to: "+redisSyntax)
	fs.StringVar(&f.toFile, "to-file", "", `file to copy to, "-" for stdout`)
	fs.BoolVar(&f.keepURLs, "keep-urls", true, "of the copy: keep the text of completed and dropped URLs")
	fs.BoolVar(&f.asJSON, "json", false, "write what was copied as one JSON object")
	for _, side := range [][]string{{"from-db", "from-redis", "daemon", "from-file"}, {"to-db", "to-redis", "to-file"}} {
		cmd.MarkFlagsOneRequired(side...)
		cmd.MarkFlagsMutuallyExclusive(side...)
	}
	cmd.MarkFlagsMutuallyExclusive("from-file", "to-file")
	return cmd
}

func (f *copyFlags) run(ctx context.Context, a *app) error {
	if f.crawl == "*" || f.toCrawl == "*" {
		return misusef("cannot copy; got crawl %q; want one crawl", "*")
	}
	if f.fromDB != "" && sameFile(f.fromDB, f.toDB) {
		return misusef("cannot copy; got the same store as --from-db and --to-db; want another directory")
	}
	var n copied
	err := f.copy(ctx, a, &n)
	if err == nil && f.asJSON {
		return json.NewEncoder(a.out).Encode(n)
	}
	if err == nil {
		fmt.Fprintf(a.err, "%s queued, %s completed and %s dropped URLs, the settings of %s, %s\n",
			grouped(n.Waiting), grouped(n.Done), grouped(n.Dropped), plural(n.Queues, "queue"), plural(n.Keys, "key"))
	}
	for _, list := range []struct {
		what     string
		commands []string
	}{{"copied:", n.Set}, {"not copied, run yourself:", n.Left}, {"not copied, since the crawl was there; as in the source:", n.Kept}, {"the copy is paused, as the source is; to start it:", n.start}} {
		for _, command := range list.commands {
			fmt.Fprintln(a.err, list.what, command)
		}
	}
	if n.Ungrouped > 0 {
		fmt.Fprintf(a.err, "not copied: the groups of %s; a store in Redis has groups if it is made with groups=true\n", plural(n.Ungrouped, "queue"))
	}
	if err != nil {
		return fmt.Errorf("cannot copy: %w", err)
	}
	return nil
}

// copied counts the copy. Set has the commands for the settings that were copied, Left for those that were not, and Kept for those in which
// an existing crawl of the target differs.
type copied struct {
	crawlfile.Counts
	Set   []string `json:"set,omitempty"`
	Left  []string `json:"not_copied,omitempty"`
	Kept  []string `json:"kept,omitempty"`
	start []string // starts a crawl that is paused
}

// setter applies the settings in a crawl file to a crawl of dst, at the place that flags say, and records them in n. A crawl that exists keeps
// its own: an operator may have changed them since a copy that broke off.
func (n *copied) setter(ctx context.Context, dst store.Store, place string, to frontier.StoredCrawl) crawlfile.ImportOptions {
	_, found := frontier.FindCrawl(ctx, dst, to.Stored)
	of := place + " --crawl " + quoted(to.Name)
	return crawlfile.ImportOptions{Identity: to.Identity, Set: func(scope store.Scope) error {
		if scope.Crawl == "*" {
			scope.Paused = false // it is for the move
			n.Left = append(n.Left, setCommands(place+" --all", &scope)...)
			return nil
		}
		if _, is := dst.(*redisstore.Store); is && scope.Retention > 0 {
			n.Left = append(n.Left, fmt.Sprintf("firstseen serve%s --seen-for=%v", place, scope.Retention))
			scope.Retention = 0
		}
		switch {
		case found == nil:
			has, err := to.Scopes(ctx, dst)
			if err == nil {
				n.Kept = without(setCommands(of, &scope), has, of)
			}
			return err
		case !errors.Is(found, store.ErrNotFound):
			return found
		}
		if err := to.Set(ctx, dst, scope); err != nil {
			return err
		}
		n.Set = append(n.Set, setCommands(of, &scope)...)
		if scope.Paused {
			n.start = []string{"firstseen set" + of + " --paused=false"}
		}
		return nil
	}}
}

// without drops the commands whose settings are in force already.
func without(commands []string, has []store.Scope, of string) []string {
	for i := range has {
		if has[i].Crawl == "" {
			is := setCommands(of, &has[i])
			commands = slices.DeleteFunc(commands, func(c string) bool { return slices.Contains(is, c) })
		}
	}
	return commands
}

// setCommands returns the commands that reproduce the settings of a scope.
func setCommands(of string, s *store.Scope) (commands []string) {
	set, exclude := "", ""
	add := func(is bool, flag string, value any) {
		if is {
			set += fmt.Sprintf(" --%s=%v", flag, value)
		}
	}
	add(s.Paused, "paused", true)
	add(s.Delay != 0, "delay", max(s.Delay, 0))
	add(s.BlockedUntil.After(time.Now()), "blocked-until", s.BlockedUntil.UTC().Format(time.RFC3339))
	add(s.Limit != 0, "limit", s.Limit)
	add(s.MaxInFlight != 0, "in-flight", s.MaxInFlight)
	add(s.Weight != 0, "weight", s.Weight)
	add(s.QueueLimit != 0, "queue-limit", s.QueueLimit)
	add(s.Retention != 0, "retention", s.Retention)
	for _, rule := range s.Rules {
		if bytes.HasPrefix(rule, []byte{0}) { // the rule that stands for an order
			add(true, "order", "depth")
		} else {
			exclude += " " + quoted(string(rule))
		}
	}
	if set != "" {
		commands = append(commands, "firstseen set"+of+set)
	}
	if exclude != "" {
		commands = append(commands, "firstseen exclude"+of+exclude)
	}
	return commands
}

func (f *copyFlags) copy(ctx context.Context, a *app, n *copied) (err error) {
	src, err := f.source(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	if f.daemon.given() {
		f.warnIfServed(ctx, a)
	}
	if f.toFile != "" {
		_, err = a.writeOut(f.toFile, func(w io.Writer) (int64, error) {
			n.Counts, err = src.write(ctx, w)
			return n.Keys + n.Queues, err
		})
		return err
	}
	dst, err := createStore(ctx, a, f.toDB, &redisFlags{f.toRedis}, f.keepURLs)
	if err == nil && dst.Identity() == (store.Identity{}) { // a new one
		err = prepare(ctx, dst, src.identity)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	to, err := crawlInto(ctx, dst, cmp.Or(f.toCrawl, f.crawl), src.crawl.Identity, src.crawl.Own())
	if err != nil {
		return err
	}
	place := " --db " + quoted(f.toDB)
	if f.toDB == "" {
		place = " --redis " + quoted(strings.Join(f.toRedis, ","))
	}
	n.Counts, err = transfer.Pipe(ctx, src.write, dst, to.Stored, n.setter(ctx, dst, place, to))
	return err
}

// warnIfServed warns of a crawl whose daemon hands out URLs while it is copied: two places fetch them. No copy fails for want of a warning.
func (f *copyFlags) warnIfServed(ctx context.Context, a *app) {
	var st wire.Stats
	d, err := f.daemon.open()
	if err == nil {
		err = d.get(ctx, "/v1/stats", url.Values{"crawl": {f.crawl}}, &st)
	}
	if err == nil && (st.InFlight > 0 || st.Held > 0 && st.Serving && !st.Settings.Paused) {
		fmt.Fprintf(a.err, "the daemon serves crawl %s meanwhile (%d leased): what it hands out is fetched again from the copy. To move the crawl, pause it by firstseen set --crawl %s --paused, and copy it when none is leased\n",
			visible(f.crawl), st.InFlight, quoted(f.crawl))
	}
}

// sameFile reports whether two names are of one file or directory that exists.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// source opens the crawl to copy. The caller must close it.
func (f *copyFlags) source(ctx context.Context, a *app) (*crawlSource, error) {
	if f.fromFile == "" {
		from := place{db: f.fromDB, redis: redisFlags{f.fromRedis}, daemon: f.daemon, crawl: f.crawl}
		return from.source(ctx, a, false)
	}
	file, err := os.Open(f.fromFile)
	if err != nil {
		return nil, err
	}
	id, err := crawlfile.IdentityOf(file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	write := func(_ context.Context, w io.Writer) (n crawlfile.Counts, err error) {
		_, err = io.Copy(w, file)
		return n, err
	}
	return &crawlSource{crawl: frontier.StoredCrawl{Identity: id}, identity: id, write: write, close: file.Close}, nil
}

// crawlSource is a crawl to read, in a store or through a daemon. Through a daemon it can be read
// once.
type crawlSource struct {
	crawl    frontier.StoredCrawl
	identity store.Identity // of the store
	// write writes the crawl as a crawl file, keys its keys as a key file. They return the counts.
	write   func(ctx context.Context, w io.Writer) (crawlfile.Counts, error)
	keys    func(ctx context.Context, w io.Writer) (int64, error)
	entries func(ctx context.Context) iter.Seq2[store.Entry, error]
	close   func() error
}

// storedCrawl is a crawl of a store, which stays the caller's.
func storedCrawl(s store.Store, c frontier.StoredCrawl) *crawlSource {
	return &crawlSource{
		crawl: c, identity: s.Identity(),
		write: func(ctx context.Context, w io.Writer) (crawlfile.Counts, error) {
			scopes, err := c.Scopes(ctx, s)
			if err != nil {
				return crawlfile.Counts{}, err
			}
			return crawlfile.Export(ctx, w, s, c.Stored, c.Identity, scopes)
		},
		keys: func(ctx context.Context, w io.Writer) (int64, error) {
			return crawlfile.ExportKeys(ctx, w, s, c.Stored, c.Identity)
		},
		entries: func(ctx context.Context) iter.Seq2[store.Entry, error] { return s.Entries(ctx, c.Stored, "") },
	}
}

// source opens a crawl to read, of a daemon maybe its keys alone. The caller must close it.
func (p *place) source(ctx context.Context, a *app, keysAlone bool) (*crawlSource, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.daemon.given() {
		d, err := p.daemon.open()
		if err != nil {
			return nil, err
		}
		return d.export(ctx, p.crawl, keysAlone)
	}
	p.reads = true
	s, err := p.openStore(ctx, a)
	if err != nil {
		return nil, err
	}
	from, err := frontier.FindCrawl(ctx, s, p.crawl)
	if errors.Is(err, store.ErrNotFound) { // a name misspelt must not look like a crawl without URLs
		err = misuse{err}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	src := storedCrawl(s, from)
	src.close = s.Close
	return src, nil
}

// export asks a daemon for a crawl, or for its keys alone. The caller must close the source.
func (d *client) export(ctx context.Context, crawl string, keysAlone bool) (*crawlSource, error) {
	query := url.Values{"crawl": {crawl}}
	if keysAlone {
		query.Set("keys", "")
	}
	resp, err := d.do(ctx, http.MethodGet, "/v1/export?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	var is server.Exported
	text, err := url.PathUnescape(resp.Header.Get(server.ExportHeader))
	if err == nil {
		err = json.Unmarshal([]byte(text), &is)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read which crawl the daemon exports: %w", err), resp.Body.Close())
	}
	write := func(_ context.Context, w io.Writer) (crawlfile.Counts, error) {
		n, err := crawlfile.Scan(io.TeeReader(resp.Body, w), nil)
		return n, brokeOff(err)
	}
	return &crawlSource{
		crawl: is.Crawl, identity: is.Store, write: write, close: resp.Body.Close,
		keys: func(ctx context.Context, w io.Writer) (int64, error) {
			n, err := write(ctx, w)
			return n.Keys, err
		},
		entries: func(context.Context) iter.Seq2[store.Entry, error] { return entriesOf(resp.Body) },
	}, nil
}

var errNoMore = errors.New("no more entries are wanted")

// entriesOf lists the URLs of a crawl file.
func entriesOf(r io.Reader) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		_, err := crawlfile.Scan(r, func(e store.Entry) error {
			if !yield(e, nil) {
				return errNoMore
			}
			return nil
		})
		if err != nil && !errors.Is(err, errNoMore) {
			yield(store.Entry{}, brokeOff(err))
		}
	}
}

// brokeOff says of a file from a daemon that is not whole what to do.
func brokeOff(err error) error {
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the answer of the daemon broke off; see its log, and try again: %w", err)
	}
	return err
}

// nameList returns names for a person to read, or what to say if there are none.
func nameList(names []string, none string, quote func(string) string) string {
	if len(names) == 0 {
		return none
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = quote(name)
	}
	return strings.Join(shown, ", ")
}

// crawlInto returns the crawl of a store that a flag names as a target, which may not exist
// yet. The keys have the given identity. If own is set, their crawl had a profile of its own,
// and so has a new crawl; otherwise a new crawl has the profile of the store.
func crawlInto(ctx context.Context, s store.Store, name string, keys store.Identity, own bool) (frontier.StoredCrawl, error) {
	c, err := frontier.FindCrawl(ctx, s, name)
	switch {
	case err == nil:
	case !errors.Is(err, store.ErrNotFound):
		return c, err
	case own:
		c = frontier.NewCrawl(s, name, keys)
	default:
		c = frontier.NewCrawl(s, name, s.Identity())
	}
	if c.Identity.Profile == keys.Profile && c.Identity.Version == keys.Version {
		return c, nil
	}
	hint := ""
	if err != nil && !c.Own() {
		hint = fmt.Sprintf("; for a new crawl that has a profile of its own, name it %q", frontier.NewCrawl(s, c.Name, keys).Stored)
	}
	return c, fault.As(store.ErrIdentity, "the keys are made by profile %q, version %d, and those of crawl %q by %q, version %d%s",
		keys.Profile, keys.Version, c.Name, c.Identity.Profile, c.Identity.Version, hint)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// migrateFlags choose the store to migrate, and its new directory.
type migrateFlags struct {
	db, to   string
	profile  profileFlags
	dropKeys bool
	asJSON   bool
}

func newMigrateCmd(a *app) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate --db OLD --to NEW",
		Short: "Copy a store to the format, profile or Unicode version of this program",
		Long: `Copy a store on disk into a new directory, for a program that reads another format or makes
other keys. The old store does not change; the new one appears when it is complete, verified and
on disk. Stop the daemon first. docs/OPERATE.md has the policy for versions.

A store of an earlier format is copied as it is: keys with their ages, queues, leases, settings.

With another --profile, --rules or --rule-file, or if the Unicode version differs, the keys are
made again from the URLs whose text is kept; ages begin again, and leased URLs are queued. Keys
without a text, and URLs that have no key by the new profile, cannot be taken along: the command
counts them and stops, unless you give --drop-keys. Their URLs are new when they are found again.

Each URL that merges with another one is printed, "merge", a tab, the URL, a tab and the other
one; each whose variants split, "split", the URL and its old canonical form; each that has no key,
"refused", the URL and the reason.`,
		Example: `  firstseen migrate --db crawl.db --to crawl-new.db
  firstseen migrate --db crawl.db --to whatwg.db --profile whatwg >changes.tsv`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			if f.db == "" || f.to == "" {
				return misusef("cannot migrate; want --db, the old store, and --to, the directory of the new one")
			}
			n, err := f.run(cmd.Context(), a, cmd.Flags().Changed("profile") || f.profile.rules+f.profile.file != "")
			if err != nil || n == nil {
				return err
			}
			return n.print(a, f.asJSON)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.db, "db", "", "directory of the old store")
	fs.StringVar(&f.to, "to", "", "directory of the new store, which is empty or does not exist")
	f.profile.add(fs)
	fs.BoolVar(&f.dropKeys, "drop-keys", false, "leave out keys that cannot be made again")
	fs.BoolVar(&f.asJSON, "json", false, "write the counts as one JSON object, and no list of URLs")
	typed(fs, "drop-keys")
	return cmd
}

// run migrates. It returns no counts if the store was only taken to another format.
func (f *migrateFlags) run(ctx context.Context, a *app, otherProfile bool) (*rekeyed, error) {
	was, now, err := pebblestore.Upgrade(ctx, f.db, f.to, pebblestore.Options{})
	if err != nil {
		return nil, err
	}
	if was != now {
		_, err = fmt.Fprintf(a.err, "%s has the store in format %d; it was format %d\n", f.to, now, was)
		if err == nil && otherProfile {
			_, err = fmt.Fprintf(a.err, "its profile is as before; to change it, run migrate again with --db %s\n", f.to)
		}
		return nil, err
	}
	return f.rekey(ctx, a, otherProfile)
}

// rekey makes a new store with the keys of another profile or Unicode version.
func (f *migrateFlags) rekey(ctx context.Context, a *app, otherProfile bool) (n *rekeyed, err error) {
	src, err := pebblestore.Open(f.db, pebblestore.Options{Mode: pebblestore.OpenReadOnly, IndexBytes: -1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	without := f.profile
	without.file = ""
	base, err := without.open()
	if !otherProfile { // the one of the store, with the Unicode version of this program
		if base, err = canon.ParseRecorded(src.Identity().Profile); err != nil {
			err = misuse{err}
		}
	}
	if err != nil {
		return nil, err
	}
	p := base
	if f.profile.file != "" {
		if p, err = f.profile.open(); err != nil {
			return nil, err
		}
	}
	if store.IdentityOf(base) == src.Identity() && f.profile.file == "" {
		return nil, misusef("there is nothing to migrate: the store has the format of this program, and %v", src.Identity())
	}
	if names, err := os.ReadDir(f.to); err == nil && len(names) > 0 {
		return nil, misusef("cannot migrate to %s: it is not empty; move it away first", f.to)
	}
	tmp := filepath.Clean(f.to) + ".partial"
	if err := pebblestore.Remove(tmp); err != nil { // of an attempt that was ended
		return nil, err
	}
	r := &rekeying{src: src, base: base, profile: p, dropKeys: f.dropKeys, out: newOutput(a.out), quiet: f.asJSON}
	if err := r.into(ctx, tmp); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot migrate: %w", err), os.RemoveAll(tmp))
	}
	if err := r.out.Flush(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return &r.n, durable.Publish(tmp, f.to)
}

// rekeyed counts what became of the URLs of a store.
type rekeyed struct {
	URLs    int64 `json:"urls"`    // whose keys were made again
	Kept    int64 `json:"kept"`    // keys of crawls that are made as before
	Merged  int64 `json:"merged"`  // URLs that are variants of another one now
	Split   int64 `json:"split"`   // URLs whose old canonical form is no variant any more
	Dropped int64 `json:"dropped"` // keys without a text
	Refused int64 `json:"refused"` // URLs that have no key by the new profile
}

func (n *rekeyed) print(a *app, asJSON bool) error {
	if asJSON {
		out := newOutput(a.out)
		out.json(n)
		return endOutput(out, 0)
	}
	_, err := fmt.Fprintf(a.err, "%s keys were made again from their URLs, %s copied; %s URLs merged with others, %s split; %s keys without a text and %s URLs that have no key were left out, and are new when they are found again\n",
		grouped(n.URLs), grouped(n.Kept), grouped(n.Merged), grouped(n.Split), grouped(n.Dropped), grouped(n.Refused))
	return err
}

// rekeying copies a store into a new one with other keys.
type rekeying struct {
	src           store.Store
	base, profile *canon.Profile // that of the new store, without and with the rule file
	dropKeys      bool
	out           *output
	quiet         bool // list no URLs
	n             rekeyed
}

// crawlChange is how a crawl changes.
type crawlChange struct {
	from     frontier.StoredCrawl
	profile  *canon.Profile // that makes its keys from now on
	identity store.Identity // the same, as the store records it
	old      *canon.Profile // that made them; nil if this program does not have it
	ruled    bool           // by a rule file, which the identity does not name
}

// into makes the new store in a directory.
func (r *rekeying) into(ctx context.Context, dir string) (err error) {
	crawls, err := r.changes(ctx)
	if err != nil {
		return err
	}
	for _, c := range crawls {
		if err := r.count(ctx, c); err != nil {
			return err
		}
	}
	if r.n.Dropped+r.n.Refused > 0 && !r.dropKeys {
		return fault.As(store.ErrIdentity, "got %s keys without the text of a URL, and %s URLs that have no key by profile %q; use --drop-keys to leave them out",
			grouped(r.n.Dropped), grouped(r.n.Refused), r.profile)
	}
	dst, err := pebblestore.Open(dir, pebblestore.Options{KeepURLs: true, IndexBytes: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := dst.Prepare(ctx, store.Terms{Identity: store.IdentityOf(r.base)}); err != nil {
		return err
	}
	for _, c := range crawls {
		if err := r.move(ctx, c, dst); err != nil {
			return fmt.Errorf("crawl %q: %w", c.from.Name, err)
		}
	}
	report, err := dst.Verify(ctx)
	if err == nil && len(report.Findings) > 0 {
		err = fmt.Errorf("the new store does not verify: row %x: %s: %w", report.Findings[0].Row, report.Findings[0].Text, store.ErrCorrupt)
	}
	return err
}

// changes lists the crawls.
func (r *rekeying) changes(ctx context.Context) ([]crawlChange, error) {
	list, err := frontier.StoredCrawls(ctx, r.src)
	if err != nil {
		return nil, err
	}
	all := make([]crawlChange, len(list))
	for i, from := range list {
		c := crawlChange{from: from, profile: r.profile, identity: store.IdentityOf(r.base), ruled: r.profile != r.base}
		if from.Own() {
			if c.profile, err = canon.ParseRecorded(from.Identity.Profile); err != nil {
				return nil, fmt.Errorf("crawl %q: %w", from.Name, err)
			}
			c.identity, c.ruled = store.IdentityOf(c.profile), false
		}
		if old, err := canon.ParseRecorded(from.Identity.Profile); err == nil && old.Version() == from.Identity.Version {
			c.old = old
		}
		all[i] = c
	}
	return all, nil
}

// same reports whether the keys of the crawl stay as they are.
func (c *crawlChange) same() bool {
	return c.from.Identity == c.identity && !c.ruled
}

// count counts what cannot be taken along.
func (r *rekeying) count(ctx context.Context, c crawlChange) error {
	if c.same() {
		return nil
	}
	st, err := r.src.Stats(ctx, c.from.Stored)
	if err != nil {
		return err
	}
	without := st.Seen
	for e, err := range r.src.Entries(ctx, c.from.Stored, "") {
		if err != nil {
			return err
		}
		without--
		if _, _, err := frontier.KeyOf(c.profile, e); err != nil {
			r.n.Refused++
			r.list("refused", e.URL, err.Error())
		}
	}
	r.n.Dropped += without
	return nil
}

func (r *rekeying) list(what, url, other string) {
	if !r.quiet {
		r.out.line(what + "\t" + visible(url) + "\t" + visible(other))
	}
}

// move copies a crawl, and lists the URLs that merge and split.
func (r *rekeying) move(ctx context.Context, c crawlChange, dst store.Store) error {
	to := frontier.NewCrawl(dst, c.from.Name, c.identity)
	if c.same() {
		n, err := pipe(ctx, storedCrawl(r.src, c.from), dst, to)
		r.n.Kept += n.Keys
		return err
	}
	other := c.from
	other.Identity = c.identity
	n, err := pipe(ctx, storedCrawl(&otherKeys{r.src, c}, other), dst, to)
	if err != nil {
		return err
	}
	r.n.URLs += n.Waiting + n.Done + n.Dropped
	for e, err := range (&otherKeys{r.src, c}).Entries(ctx, c.from.Stored, "") {
		if err == nil {
			err = r.compare(ctx, &c, &e, dst, to.Stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compare lists a URL that merged or split. Its entry has the new key.
func (r *rekeying) compare(ctx context.Context, c *crawlChange, e *store.Entry, dst store.Store, stored string) error {
	now, err := dst.Lookup(ctx, stored, e.Key)
	if err != nil {
		return fmt.Errorf("cannot find %q in the new store: %w", e.URL, err)
	}
	if now.URL != e.URL {
		r.n.Merged++
		r.list("merge", e.URL, now.URL)
	}
	if c.old == nil {
		return nil
	}
	variant := *e
	if variant.URL, err = c.old.Canonicalize(e.URL); err != nil {
		return nil // it had a key by a rule file that is not known here
	}
	if key, _, err := frontier.KeyOf(c.profile, variant); err != nil || key != e.Key {
		r.n.Split++
		r.list("split", e.URL, variant.URL)
	}
	return nil
}

// otherKeys is a store to read whose URLs have the keys of another profile, and that has no key
// without a text.
type otherKeys struct {
	store.Store
	change crawlChange
}

// Identity implements store.Store.
func (o *otherKeys) Identity() store.Identity { return o.change.identity }

// Keys lists no key: those of the entries are enough.
func (o *otherKeys) Keys(context.Context, string) iter.Seq2[store.Key, error] {
	return func(func(store.Key, error) bool) {}
}

// Entries leaves out URLs that have no key.
func (o *otherKeys) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range o.Store.Entries(ctx, crawl, queue) {
			if err == nil {
				var bad error
				if e.Key, _, bad = frontier.KeyOf(o.change.profile, e); bad != nil {
					continue
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

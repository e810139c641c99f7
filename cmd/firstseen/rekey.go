package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

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

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// Pipe copies what write writes, a crawl file, into a crawl of dst; opt.Identity is that of the crawl. It waits for both sides, also when one fails: the reading
// one has a temporary file to remove.
func Pipe(ctx context.Context, write func(context.Context, io.Writer) (crawlfile.Counts, error), dst store.Store, to string, opt crawlfile.ImportOptions) (crawlfile.Counts, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := write(ctx, w)
		w.CloseWithError(err)
	}()
	n, err := crawlfile.Import(ctx, r, dst, to, opt)
	cancel() // or it would list all keys before it notices
	r.CloseWithError(errors.New("the copy ended"))
	<-done
	return n, err
}

// ErrLost says that URLs would be left out of the new store.
var ErrLost = errors.New("keys cannot be made again")

// RekeyOptions say how the keys of the new store are made.
type RekeyOptions struct {
	Base, Profile *canon.Profile // of the new store, without and with the rule file
	// DropKeys leaves out keys without a text, and URLs that have no key by the new profile. The default is ErrLost.
	DropKeys bool
	// List is called for each URL that merges, splits or is refused, with "merge", "split" or "refused", the URL, and the other
	// one or the reason.
	List func(what, url, other string)
}

// RekeyCounts counts what became of the URLs of a store.
type RekeyCounts struct {
	URLs    int64 `json:"urls"`    // whose keys were made again
	Kept    int64 `json:"kept"`    // keys of crawls that are made as before
	Merged  int64 `json:"merged"`  // URLs that are variants of another one now
	Split   int64 `json:"split"`   // URLs whose old canonical form is no variant any more
	Dropped int64 `json:"dropped"` // keys without a text
	Refused int64 `json:"refused"` // URLs that have no key by the new profile
	// Rules counts the exclusions of crawls whose keys were made again. They match canonical forms, which may be others now.
	Rules int64 `json:"exclusions,omitempty"`
}

// rekeying is a store being made of another one.
type rekeying struct {
	src store.Store
	opt RekeyOptions
	n   RekeyCounts

	rulesOfAll int64
}

// crawlChange is how a crawl changes.
type crawlChange struct {
	from     frontier.StoredCrawl
	profile  *canon.Profile // that makes its keys from now on
	identity store.Identity // the same, as the store records it
	old      *canon.Profile // that made them; nil if this program does not have it
	ruled    bool           // by a rule file, which the identity does not name
}

// Rekey makes a new store of src in a directory. The error is ErrLost, and there is no new store, if URLs would be left out that
// opt does not say to leave out; the counts say how many.
func Rekey(ctx context.Context, src store.Store, dir string, opt RekeyOptions) (RekeyCounts, error) {
	r := &rekeying{src: src, opt: opt}
	err := r.into(ctx, dir)
	return r.n, err
}

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
	if r.n.Dropped+r.n.Refused > 0 && !r.opt.DropKeys {
		return ErrLost
	}
	dst, err := pebblestore.Open(dir, pebblestore.Options{KeepURLs: true, IndexBytes: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := dst.Prepare(ctx, store.Terms{Identity: store.IdentityOf(r.opt.Base)}); err != nil {
		return err
	}
	all, err := r.src.CrawlSettings(ctx, "*")
	if err == nil {
		err = dst.Configure(ctx, "*", "", all.Change())
	}
	if err != nil {
		return err
	}
	for _, c := range crawls {
		if err := r.move(ctx, c, dst); err != nil {
			return fmt.Errorf("crawl %q: %w", c.from.Name, err)
		}
	}
	r.n.Rules += r.rulesOfAll
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
		c := crawlChange{from: from, profile: r.opt.Profile, identity: store.IdentityOf(r.opt.Base), ruled: r.opt.Profile != r.opt.Base}
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
			r.opt.List("refused", e.URL, err.Error())
		}
	}
	r.n.Dropped += without
	return nil
}

// move copies a crawl, and lists the URLs that merge and split.
func (r *rekeying) move(ctx context.Context, c crawlChange, dst *pebblestore.Store) error {
	to := frontier.NewCrawl(dst, c.from.Name, c.identity)
	src := r.src
	if !c.same() {
		src = &otherKeys{r.src, c}
	}
	scopes, err := c.from.Scopes(ctx, r.src)
	if err != nil {
		return err
	}
	if !c.same() {
		for _, scope := range scopes {
			if scope.Crawl == "" {
				r.n.Rules += int64(len(scope.Rules))
			} else {
				r.rulesOfAll = int64(len(scope.Rules))
			}
		}
	}
	n, err := Pipe(ctx, func(ctx context.Context, w io.Writer) (crawlfile.Counts, error) {
		return crawlfile.Export(ctx, w, src, c.from.Stored, c.identity, scopes)
	}, dst, to.Stored, crawlfile.ImportOptions{Identity: to.Identity, Set: func(scope store.Scope) error {
		if scope.Crawl == "*" { // it was set
			return nil
		}
		return to.Set(ctx, dst, scope)
	}})
	if err == nil {
		err = r.recount(ctx, c.from.Stored, dst, to.Stored)
	}
	if c.same() {
		r.n.Kept += n.Keys
		return err
	}
	if err != nil {
		return err
	}
	r.n.URLs += n.Waiting + n.Done + n.Dropped
	for e, err := range src.Entries(ctx, c.from.Stored, "") {
		if err == nil {
			err = r.compare(ctx, &c, &e, dst, to.Stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recount copies the counts of a crawl's queues, which a crawl file does not carry. The import counts each done URL as one page; pages that
// were fetched twice, or whose URLs were forgotten by age, would make room below a limit.
func (r *rekeying) recount(ctx context.Context, from string, dst *pebblestore.Store, to string) error {
	const atOnce = 500
	var some []store.QueueInfo
	for q, err := range r.src.Queues(ctx, from, "") {
		if err != nil {
			return err
		}
		if q.Completed+q.Dropped+q.Fetched+q.Failed > 0 {
			some = append(some, q)
		}
		if len(some) == atOnce {
			if err := dst.Recount(ctx, to, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return dst.Recount(ctx, to, some)
}

// compare lists a URL that merged or split. Its entry has the new key.
func (r *rekeying) compare(ctx context.Context, c *crawlChange, e *store.Entry, dst store.Store, stored string) error {
	now, err := dst.Lookup(ctx, stored, []store.Key{e.Key})
	if err == nil && !now[0].Known() {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot find %q in the new store: %w", e.URL, err)
	}
	if now[0].URL != e.URL {
		r.n.Merged++
		r.opt.List("merge", e.URL, now[0].URL)
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
		r.opt.List("split", e.URL, variant.URL)
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

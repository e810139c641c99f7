package crawlfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// ImportOptions modify Import. The zero value is fine.
type ImportOptions struct {
	// Batch is the number of URLs or keys of a step. The default is 10,000.
	Batch int
	// Identity is how the keys of the crawl are made. The default is the store's
	// identity.
	Identity store.Identity
	// Set is called with each scope whose settings the file has, before anything is imported. The default sets nothing.
	Set func(store.Scope) error
}

// Import reads a crawl file or a key file into a crawl of s. If the identities of file and crawl
// differ, the error is store.ErrIdentity. A different Unicode version is an error
// only if the file has keys of internationalised hosts.
//
// After an error, run Import again: what was imported stays, and is not imported twice. Queues that have settings keep them.
func Import(ctx context.Context, r io.Reader, s store.Store, crawl string, opt ImportOptions) (Counts, error) {
	if opt.Batch <= 0 {
		opt.Batch = 10_000
	}
	opt.Identity = opt.Identity.Or(s.Identity())
	im := &importer{s: s, crawl: crawl, opt: opt}
	im.settings.SetLimit(settingsAtOnce)
	defer func() { _ = im.settings.Wait() }() // after another error; flush returns this one
	rd, err := open(r)
	if err != nil {
		return im.n, err
	}
	if rd.file == nil {
		if err := im.rows(ctx, rd); err != nil {
			return im.n, err
		}
	}
	return im.n, im.keys(ctx, rd)
}

// settingsAtOnce is how many settings of queues are imported at a time.
const settingsAtOnce = 64

// importer is an import under way.
type importer struct {
	s     store.Store
	crawl string
	opt   ImportOptions
	n     Counts

	sameUnicode bool // as the file's

	settings errgroup.Group // of queues, which a store may commit together

	waiting []store.Item
	ended   []store.Settlement
}

// rows imports the rows of a crawl file.
func (im *importer) rows(ctx context.Context, r *reader) error {
	have, want := im.opt.Identity, *r.made.Identity
	im.sameUnicode = want.Unicode == have.Unicode
	if want.Unicode = have.Unicode; want != have {
		return foreign("the crawl", *r.made.Identity, have)
	}
	for _, scope := range r.made.Scopes {
		if im.opt.Set == nil {
			break
		}
		if err := im.opt.Set(scope); err != nil {
			return err
		}
	}
	for {
		next, ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			return im.flush(ctx)
		}
		if err := im.row(ctx, next); err != nil {
			return err
		}
		if len(im.waiting)+len(im.ended) >= im.opt.Batch {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// foreign returns the error for a file whose identity differs from the store's.
func foreign(what string, made, have store.Identity) error {
	_, err := made.Adopt(have, true, true)
	if err == nil { // a field is empty in one of them
		err = fault.As(store.ErrIdentity, "it was created with %v, not %v", made, have)
	}
	return fmt.Errorf("cannot import %s: %w", what, err)
}

func (im *importer) row(ctx context.Context, next row) error {
	if q := next.Queue; q != nil {
		im.n.Queues++
		im.settings.Go(func() error { return im.configure(ctx, q) })
		return nil
	}
	u := next.URL
	if u == nil {
		return fault.As(store.ErrCorrupt, "cannot import; got a second identity")
	}
	key, queue, url := store.Key(u.Key), string(u.Queue), string(u.URL)
	unicode := unicodeHost(url)
	if unicode && !im.sameUnicode {
		return fault.As(store.ErrIdentity, "cannot import %q; its key is of another Unicode version", url)
	}
	if u.Done {
		st := store.Settlement{Key: key, Create: true, Queue: queue, URL: url, Meta: u.Meta, Priority: &u.Priority, Ended: u.Ended, UnicodeHost: unicode}
		if st.Outcome, st.Fetched = store.Complete, true; u.Dropped { // the file does not record which were sources of redirects
			st.Outcome, st.Fetched = store.Drop, false
		}
		im.ended = append(im.ended, st)
		return nil
	}
	im.waiting = append(im.waiting, store.Item{Key: key, Queue: queue, URL: url, Meta: u.Meta, Due: u.Due, Priority: u.Priority, UnicodeHost: unicode})
	return nil
}

// configure applies the settings of a queue, unless the queue already has some in the crawl: an operator may have changed them since an
// interrupted import. Nor does it pause a queue that the crawl already has.
func (im *importer) configure(ctx context.Context, q *queueRow) error {
	have, err := im.s.QueueInfo(ctx, im.crawl, string(q.Name))
	switch {
	case err == nil && have.QueueSettings != (store.QueueSettings{}):
		return nil
	case err == nil:
		q.Paused = false
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	err = im.s.Configure(ctx, im.crawl, string(q.Name), q.change())
	if len(q.Group) > 0 && errors.Is(err, store.ErrInvalid) {
		atomic.AddInt64(&im.n.Ungrouped, 1)
		q.Group = nil
		err = im.s.Configure(ctx, im.crawl, string(q.Name), q.change())
	}
	return err
}

// unicodeHost reports whether the host of a URL may be internationalised. If it is not sure, it
// reports true.
func unicodeHost(url string) bool {
	for i := range len(url) {
		if url[i] >= 0x80 {
			return true
		}
	}
	_, rest, _ := strings.Cut(url, "//")
	host, _, _ := strings.Cut(rest, "/")
	return strings.Contains(strings.ToLower(host), "xn--") || strings.Contains(host, "%")
}

// flush makes the rows so far durable.
func (im *importer) flush(ctx context.Context) error {
	if err := im.settings.Wait(); err != nil {
		return err
	}
	if len(im.waiting) > 0 {
		if _, err := im.s.Add(ctx, im.crawl, im.waiting, store.AddOptions{}); err != nil {
			return err
		}
	}
	if err := im.end(ctx); err != nil {
		return err
	}
	im.n.Waiting += int64(len(im.waiting))
	for i := range im.ended {
		if im.ended[i].Outcome == store.Complete {
			im.n.Done++
		} else {
			im.n.Dropped++
		}
	}
	im.waiting, im.ended = im.waiting[:0], im.ended[:0]
	return nil
}

// end records URLs that were completed or dropped, except those that the store holds or has
// the text of: they may have been queued again since.
func (im *importer) end(ctx context.Context) error {
	if len(im.ended) == 0 {
		return nil
	}
	keys, fresh := make([]store.Key, len(im.ended)), make([]bool, len(im.ended))
	unicode := false
	for i, d := range im.ended {
		keys[i], unicode = d.Key, unicode || d.UnicodeHost
	}
	if err := im.s.See(ctx, im.crawl, keys, fresh, store.SeeOptions{UnicodeHosts: unicode}); err != nil {
		return err
	}
	entries := make([]store.Entry, len(keys))
	if slices.Contains(fresh, false) {
		var err error
		if entries, err = im.s.Lookup(ctx, im.crawl, keys); err != nil {
			return err
		}
	}
	var settle []store.Settlement
	for i, d := range im.ended {
		if entries[i].State == store.SeenOnly {
			settle = append(settle, d)
		}
	}
	if len(settle) == 0 {
		return nil
	}
	_, err := im.s.Settle(ctx, im.crawl, settle)
	return err
}

// keys imports a key file.
func (im *importer) keys(ctx context.Context, r *reader) error {
	kr, err := r.keys()
	if err != nil {
		return err
	}
	h, have := kr.Header(), im.opt.Identity
	want := h.Identity
	if !h.UnicodeHosts || want.Unicode == "" {
		want.Unicode = have.Unicode
	}
	if want != have {
		return foreign("the keys", h.Identity, have)
	}
	return im.see(ctx, kr.Keys(), store.SeeOptions{UnicodeHosts: h.UnicodeHosts})
}

// see records keys batch by batch.
func (im *importer) see(ctx context.Context, keys iter.Seq2[store.Key, error], opt store.SeeOptions) error {
	batch, fresh := make([]store.Key, 0, im.opt.Batch), make([]bool, im.opt.Batch)
	flush := func() error {
		if err := im.s.See(ctx, im.crawl, batch, fresh[:len(batch)], opt); err != nil {
			return err
		}
		for _, f := range fresh[:len(batch)] {
			if f {
				im.n.New++
			}
		}
		im.n.Keys += int64(len(batch))
		batch = batch[:0]
		return nil
	}
	for k, err := range keys {
		if err != nil {
			return err
		}
		if batch = append(batch, k); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

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
			return crawlfile.Export(ctx, w, s, c.Stored, c.Identity)
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
	s, err := p.openStore(ctx, a, true)
	if err != nil {
		return nil, err
	}
	from, err := crawlIn(ctx, s, p.crawl)
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

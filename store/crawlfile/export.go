package crawlfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

// exporter is a store that writes key files itself.
type exporter interface {
	Export(ctx context.Context, w io.Writer, crawl string) (int64, error)
}

// Export writes a crawl of s to w. The file records the identity id of its keys; the zero identity
// is that of s. Some changes during the export are in the file, others are not: pause the crawl for
// an exact file. Export first lists the keys into a temporary file, 16 bytes each. Otherwise the
// file could have the key of a new URL without the URL, and an import would never fetch it.
func Export(ctx context.Context, w io.Writer, s store.Store, crawl string, id store.Identity) (n Counts, err error) {
	keys, err := os.CreateTemp("", "firstseen-keys-")
	if err != nil {
		return n, fmt.Errorf("cannot write keys of crawl file: %w", err)
	}
	defer func() { err = errors.Join(err, keys.Close(), os.Remove(keys.Name())) }()
	id = id.Or(s.Identity())
	if n.Keys, err = ExportKeys(ctx, keys, s, crawl, id); err != nil {
		return n, err
	}
	if err := export(ctx, w, s, crawl, id, &n); err != nil {
		return n, err
	}
	if _, err = keys.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(w, keys)
	}
	if err != nil {
		return n, fmt.Errorf("cannot write keys of crawl file: %w", err)
	}
	return n, nil
}

// export writes all but the keys.
func export(ctx context.Context, w io.Writer, s store.Store, crawl string, id store.Identity, n *Counts) error {
	if _, err := io.WriteString(w, Magic); err != nil {
		return fmt.Errorf("cannot write crawl file: %w", err)
	}
	rows := &writer{w: w}
	if err := rows.row(row{Identity: &id}); err != nil {
		return err
	}
	if err := exportRows(ctx, rows, s, crawl, n); err != nil {
		return err
	}
	return rows.end()
}

func exportRows(ctx context.Context, w *writer, s store.Store, crawl string, n *Counts) error {
	for q, err := range s.Queues(ctx, crawl, "") {
		if !q.NotBefore.After(time.Now()) {
			q.NotBefore = time.Time{} // it has no effect any more
		}
		if err == nil && (q.QueueSettings != (store.QueueSettings{}) || !q.NotBefore.IsZero()) {
			n.Queues++
			err = w.row(row{Queue: queueRowOf(q)})
		}
		if err != nil {
			return err
		}
	}
	for e, err := range s.Entries(ctx, crawl, "") {
		if err == nil {
			err = w.row(row{URL: urlRowOf(e)})
		}
		if err != nil {
			return err
		}
		n.count(e.State)
	}
	return nil
}

// ExportKeys writes the keys of a crawl as a key file and returns their number. The file records the
// identity id of the keys; the zero identity is that of s.
func ExportKeys(ctx context.Context, w io.Writer, s store.Store, crawl string, id store.Identity) (int64, error) {
	id = id.Or(s.Identity())
	if own, ok := s.(exporter); ok && id == s.Identity() {
		return own.Export(ctx, w, crawl)
	}
	// The store does not record which keys are of internationalised hosts.
	return keyfile.Write(w, keyfile.Header{Identity: id, UnicodeHosts: true}, s.Keys(ctx, crawl))
}

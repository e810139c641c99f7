package crawlfile

import (
	"bufio"
	"io"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

// Scan reads a crawl file or a key file to its end and returns its counts. The error is
// store.ErrCorrupt if the file is damaged or not whole. Scan calls url for each URL; nil is to
// count alone.
func Scan(r io.Reader, url func(store.Entry) error) (n Counts, err error) {
	br := bufio.NewReaderSize(r, 1<<20)
	start, err := br.Peek(len(Magic))
	if err != nil {
		return n, truncated(err)
	}
	if string(start) == Magic {
		_, _ = br.Discard(len(Magic)) // it was peeked at
		if err := n.scanRows(&reader{r: br}, url); err != nil {
			return n, err
		}
	}
	kr, err := keyfile.NewReader(br)
	if err != nil {
		return n, err
	}
	for _, err := range kr.Keys() {
		if err != nil {
			return n, err
		}
		n.Keys++
	}
	return n, nil
}

func (n *Counts) scanRows(r *reader, url func(store.Entry) error) error {
	for {
		next, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		switch u := next.URL; {
		case next.Queue != nil:
			n.Queues++
		case u != nil:
			if len(u.Key) != len(store.Key{}) {
				return fault.As(store.ErrCorrupt, "cannot read crawl file; got a URL with a key of %d bytes", len(u.Key))
			}
			e := u.entry()
			n.count(e.State)
			if url != nil {
				if err := url(e); err != nil {
					return err
				}
			}
		}
	}
}

// entry is the inverse of urlRowOf.
func (u *urlRow) entry() store.Entry {
	e := store.Entry{Key: store.Key(u.Key), Queue: string(u.Queue), URL: string(u.URL), Meta: u.Meta, Due: u.Due, Priority: u.Priority, State: store.Queued}
	switch {
	case u.Dropped:
		e.State = store.Dropped
	case u.Done:
		e.State = store.Done
	}
	return e
}

// count counts a URL.
func (n *Counts) count(s store.State) {
	switch s {
	case store.Done:
		n.Done++
	case store.Dropped:
		n.Dropped++
	default:
		n.Waiting++
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/archive"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// compare opens the files of --against.
func (f *uniqFlags) compare(ctx context.Context, a *app, p *canon.Profile, opt *uniq.Options) error {
	var lists []string
	for _, name := range f.against {
		keys, err := keysOf(ctx, name, p)
		switch {
		case err != nil:
			return err
		case keys == nil:
			lists = append(lists, name)
		case f.by != "canonical":
			return misusef("cannot compare with %s; got a key file and --by %s; want --by canonical: its keys are of canonical forms", name, f.by)
		default:
			opt.AgainstKeys = append(opt.AgainstKeys, keys)
		}
	}
	opt.Against = (&fileSet{stdin: a.in, log: f.logOptions()}).inputs(ctx, lists)
	return nil
}

// keysOf returns the keys of a key file that are made as p makes them, and nil for any
// other file.
func keysOf(ctx context.Context, name string, p *canon.Profile) (iter.Seq2[store.Key, error], error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil // the reader of lists reports the error
	}
	file, err := logs.Open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(file.Peek(len(keyfile.Magic)), []byte(keyfile.Magic)) {
		return nil, file.Close()
	}
	r, err := keyfile.NewReader(file.Reader())
	if err == nil {
		_, err = r.Header().Identity.Adopt(store.IdentityOf(p), true, r.Header().UnicodeHosts)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot compare with %s: %w", name, err), file.Close())
	}
	return func(yield func(store.Key, error) bool) {
		defer file.Close()
		r.Keys()(yield)
	}, nil
}

// openMemory opens the seen-set of --db, and returns the profile with its lists. While another process has it,
// it waits.
func (f *uniqFlags) openMemory(ctx context.Context, a *app, p *canon.Profile) (*pebblestore.Store, *canon.Profile, error) {
	told := false
	for {
		s, own, err := openPebble(ctx, f.db, p, pebblestore.Options{})
		if err == nil || !errors.Is(err, store.ErrLocked) || f.noWait {
			return s, own, err
		}
		if !told && !f.quiet {
			fmt.Fprintf(a.err, "firstseen: another process has %s open: waiting for it to end\n", f.db)
			told = true
		}
		if async.Sleep(ctx, 100*time.Millisecond) != nil {
			return nil, nil, errors.New("interrupted while waiting for " + f.db)
		}
	}
}

// notes are on the files of a run with --db that were read to their end: they are not read again.
type notes struct {
	*archive.Journal
	names  []string // still to be read
	before int      // files that are not
	parts  []*archive.Part
}

// openNotes takes those files out that were read in the same way before.
func (f *uniqFlags) openNotes(names []string) (*notes, error) {
	journal, err := archive.OpenJournal(f.db)
	if err != nil || f.db == "" {
		return &notes{Journal: journal, names: names}, err
	}
	n := &notes{Journal: journal}
	how := fmt.Sprintf("uniq %s keep %q keep-by %q against %q common %v log %q %s", f.by, f.keep, f.keepBy, f.against, f.common, f.log, f.filters.how())
	for _, name := range names {
		part, _, whole := journal.Begin(name, f.crawl, how)
		if whole && !f.again {
			n.before++
			continue
		}
		n.names, n.parts = append(n.names, name), append(n.parts, part)
	}
	return n, nil
}

// note notes the files that were read to their end.
func (n *notes) note(r *uniq.Result) (err error) {
	for i, part := range n.parts {
		if r.Inputs[i].Whole {
			err = errors.Join(err, part.End(true))
		}
	}
	return err
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/archive"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/keyfile"
)

// importRun is an import of files. It opens the store when the first file turns out to be one
// that can be imported, so a mistyped name makes no store.
type importRun struct {
	a       *app
	flags   *importFlags
	profile *canon.Profile
	opt     archive.Options
	files   *fileSet

	to    *importer // nil until the store is open
	store store.Store
}

func (r *importRun) run(ctx context.Context, names []string) error {
	r.files.measure(names)
	shown := showProgress(r.a.err, r.files.inputLine)
	defer shown.stop()
	var errs []error
	for _, name := range names {
		err := r.file(ctx, name)
		if err != nil {
			errs = append(errs, err)
		}
		var open openError
		if ctx.Err() != nil || errors.Is(err, store.ErrFailed) || errors.As(err, &open) {
			break
		}
	}
	return worst(errs...)
}

// openError is one of the store: it would come again with each file.
type openError struct{ error }

func (e openError) Unwrap() error { return e.error }

// importer opens the store, the first time.
func (r *importRun) importer(ctx context.Context) (*importer, error) {
	if r.to != nil {
		return r.to, nil
	}
	s, err := r.flags.openStore(ctx, r.a)
	if err != nil {
		return nil, openError{err}
	}
	front, err := frontier.New(s, frontier.Options{Profile: r.profile, Traps: frontier.Traps{Off: true}})
	if err != nil {
		return nil, openError{errors.Join(err, s.Close())}
	}
	journal, err := archive.OpenJournal(cmp.Or(r.flags.notes, r.flags.db))
	if err != nil {
		return nil, openError{errors.Join(err, front.Close(), s.Close())}
	}
	r.store = s
	r.to = &importer{a: r.a, flags: r.flags, store: s, front: front, journal: journal, opt: r.opt}
	return r.to, nil
}

func (r *importRun) close() error {
	if r.to == nil {
		return nil
	}
	return errors.Join(r.to.journal.Close(), r.to.front.Close(), r.store.Close())
}

// file imports a file, and reports what became of it.
func (r *importRun) file(ctx context.Context, name string) error {
	file, err := r.files.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.files.done(file)
	head := file.Peek(256)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted before %s was read", name)
	case isScrapySeen(head):
		return fmt.Errorf("cannot import %s; got Scrapy's requests.seen: one-way fingerprints, which name no URL; want its log, a feed or an archive (docs/LOGS.md)", name)
	case bytes.HasPrefix(head, []byte(keyfile.Magic)):
		i, err := r.importer(ctx)
		if err != nil {
			return err
		}
		return i.keys(ctx, name, file)
	case bytes.HasPrefix(head, []byte(crawlfile.Magic)):
		return fmt.Errorf("cannot import %s; got a file of firstseen copy; run: firstseen copy --from-file %s --to-db DIR", name, quoted(name))
	}
	if _, err := logs.Detect(file, r.opt.Log); err != nil { // before a store is made for it
		return refusal(r.a, fmt.Errorf("cannot import: %w", err))
	}
	i, err := r.importer(ctx)
	if err != nil {
		return err
	}
	return i.log(ctx, name, file)
}

// refusal returns what an error does to the exit status: input of the wrong kind was refused, any other is a failure.
func refusal(a *app, err error) error {
	if !errors.Is(err, logs.ErrFormat) {
		return err
	}
	fmt.Fprintf(a.err, "firstseen: %v\n", err)
	return errRefused
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
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
			return printRekeyed(a, n, f.asJSON)
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
func (f *migrateFlags) run(ctx context.Context, a *app, otherProfile bool) (*transfer.RekeyCounts, error) {
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
func (f *migrateFlags) rekey(ctx context.Context, a *app, otherProfile bool) (n *transfer.RekeyCounts, err error) {
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
	out := newOutput(a.out)
	opt := transfer.RekeyOptions{Base: base, Profile: p, DropKeys: f.dropKeys, List: func(what, url, other string) {
		if !f.asJSON {
			out.line(what + "\t" + visible(url) + "\t" + visible(other))
		}
	}}
	var counts transfer.RekeyCounts
	err = durable.Build(f.to, func(tmp string) error {
		if counts, err = transfer.Rekey(ctx, src, tmp, opt); err != nil {
			return err
		}
		return out.Flush()
	})
	switch {
	case errors.Is(err, durable.ErrNotEmpty):
		return nil, misusef("cannot migrate to %s: %w", f.to, err)
	case errors.Is(err, transfer.ErrLost):
		err = fault.As(store.ErrIdentity, "got %s keys without the text of a URL, and %s URLs that have no key by profile %q; use --drop-keys to leave them out",
			grouped(counts.Dropped), grouped(counts.Refused), p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot migrate: %w", err)
	}
	return &counts, nil
}

func printRekeyed(a *app, n *transfer.RekeyCounts, asJSON bool) error {
	if asJSON {
		out := newOutput(a.out)
		out.json(n)
		return endOutput(out, 0)
	}
	_, err := fmt.Fprintf(a.err, "%s keys were made again from their URLs, %s copied; %s URLs merged with others, %s split; %s keys without a text and %s URLs that have no key were left out, and are new when they are found again\n",
		grouped(n.URLs), grouped(n.Kept), grouped(n.Merged), grouped(n.Split), grouped(n.Dropped), grouped(n.Refused))
	if err == nil && n.Rules > 0 {
		_, err = fmt.Fprintf(a.err, "%s as before; they match canonical forms, which may be others now: check them with \"firstseen exclude\"\n", plural(n.Rules, "exclusion"))
	}
	return err
}

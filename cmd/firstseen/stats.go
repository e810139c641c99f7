package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
)

// withStore adds --db and --crawl to a command that works on a store, and has
// it call do.
func withStore(cmd *cobra.Command, opt *pebblestore.Options, crawl *string, do func(ctx context.Context, s *pebblestore.Store, args []string) error) {
	dir := cmd.Flags().String("db", "", "directory of the store")
	cmd.Flags().StringVar(crawl, "crawl", store.DefaultCrawl, "crawl that is meant")
	cmd.RunE = running(func(cmd *cobra.Command, args []string) error {
		if *dir == "" {
			return misusef("cannot work on a store; got no --db; want its directory")
		}
		s, err := pebblestore.Open(*dir, *opt)
		if err != nil {
			return err
		}
		err = do(cmd.Context(), s, args)
		return errors.Join(err, s.Close())
	})
}

// withAnyStore is withStore for commands that work on a store in Redis, too.
func withAnyStore(a *app, cmd *cobra.Command, opt *pebblestore.Options, crawl *string, do func(ctx context.Context, s store.Store, args []string) error) {
	var r redisFlags
	withStore(cmd, opt, crawl, func(ctx context.Context, s *pebblestore.Store, args []string) error { return do(ctx, s, args) })
	onDisk := cmd.RunE
	r.add(cmd.Flags())
	cmd.RunE = running(func(cmd *cobra.Command, args []string) error {
		if err := r.notWith(cmd.Flags(), "db"); err != nil {
			return err
		}
		if !r.given() {
			if cmd.Flag("db").Value.String() == "" {
				return misusef("cannot work on a store; got neither --db nor --redis; want one of them")
			}
			return onDisk(cmd, args)
		}
		s, err := r.open(cmd.Context(), a.log, redisstore.Options{MustExist: true})
		if err != nil {
			return err
		}
		return errors.Join(do(cmd.Context(), s, args), s.Close())
	})
}

// storeStats is the answer of the stats command.
type storeStats struct {
	Crawl     string     `json:"crawl"`
	Seen      int64      `json:"seen"`
	Held      int64      `json:"held"`
	InFlight  int64      `json:"in_flight"`
	Completed int64      `json:"completed"`
	Dropped   int64      `json:"dropped"`
	Queues    int64      `json:"queues"`
	Active    int64      `json:"active_queues"`
	DiskBytes int64      `json:"disk_bytes"` // of the whole store, if it is on disk
	Profile   string     `json:"profile"`
	Version   int        `json:"profile_version,omitzero"` // a daemon does not report this and the next
	Unicode   string     `json:"unicode,omitzero"`
	Index     indexStats `json:"index,omitzero"`
	Crawls    []string   `json:"crawls"`
}

// indexStats is how the keys are held in memory.
type indexStats struct {
	Mode           string  `json:"mode"`
	Bytes          int64   `json:"bytes"`
	WronglyDropped float64 `json:"wrongly_dropped"`
}

func newStatsCmd(a *app) *cobra.Command {
	var crawl string
	var daemon daemonFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:     "stats (--db DIR | --redis ADDR | --daemon ADDR)",
		Short:   "Print the counts of a store",
		Example: `  firstseen stats --db crawl.db --crawl "*" --json`,
		Args:    noArgs,
	}
	withAnyStore(a, cmd, &pebblestore.Options{Mode: pebblestore.OpenReadOnly}, &crawl, func(ctx context.Context, s store.Store, _ []string) error {
		st, err := statsOf(ctx, s, crawl)
		if err != nil {
			return err
		}
		out := newOutput(a.out)
		if asJSON {
			out.json(st)
		} else {
			st.write(out)
		}
		return endOutput(out, 0)
	})
	orDaemon(cmd, &daemon, func(ctx context.Context, d *daemonClient, _ []string) error {
		var st storeStats
		if err := d.get(ctx, "/v1/stats", url.Values{"crawl": {crawl}}, &st); err != nil {
			return err
		}
		out := newOutput(a.out)
		if asJSON {
			out.json(st)
		} else {
			st.write(out)
		}
		return endOutput(out, 0)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

func statsOf(ctx context.Context, s store.Store, name string) (storeStats, error) {
	list, err := frontier.StoredCrawls(ctx, s)
	if err != nil {
		return storeStats{}, err
	}
	crawl := frontier.StoredCrawl{Name: name, Stored: name, Identity: s.Identity()}
	if len(list) > 0 || name != store.DefaultCrawl { // a new store has no crawl, and that is no mistake
		if crawl, err = crawlIn(ctx, s, name); err != nil {
			return storeStats{}, err
		}
	}
	counts, err := s.Stats(ctx, crawl.Stored)
	if err != nil {
		return storeStats{}, fmt.Errorf("cannot count: %w", err)
	}
	var metrics pebblestore.Metrics
	if p, ok := s.(*pebblestore.Store); ok {
		if metrics, err = p.Metrics(ctx); err != nil {
			return storeStats{}, fmt.Errorf("cannot read metrics: %w", err)
		}
	}
	crawls := []string{}
	for _, c := range slices.DeleteFunc(list, frontier.StoredCrawl.Hidden) {
		crawls = append(crawls, c.Name)
	}
	id := crawl.Identity
	return storeStats{
		Crawl: crawl.Name, Seen: counts.Seen, Held: counts.Held, InFlight: counts.InFlight, Completed: counts.Completed, Dropped: counts.Dropped,
		Queues: counts.Queues, Active: counts.Active, DiskBytes: metrics.DiskBytes,
		Profile: id.Profile, Version: id.Version, Unicode: id.Unicode, Crawls: crawls,
		Index: indexStats{metrics.Index.Mode(), metrics.Index.Bytes, metrics.Index.WronglyDropped},
	}, nil
}

func (st storeStats) write(out *output) {
	for _, row := range []struct {
		n    int64
		what string
	}{
		{st.Seen, "seen"}, {st.Held, "queued or leased"}, {st.InFlight, "leased"}, {st.Completed, "completed"}, {st.Dropped, "dropped"},
		{st.Queues, "queues"}, {st.Active, "queues that hold something"}, {st.DiskBytes, "bytes on disk, of the whole store"},
		{st.Index.Bytes, "bytes of index in memory, " + st.Index.Mode},
	} {
		if st.Index.Mode == "" && strings.HasPrefix(row.what, "bytes") {
			continue // it isn't on this machine's disk
		}
		out.line(fmt.Sprintf("%15s  %s", grouped(row.n), row.what))
	}
	version := ""
	if st.Unicode != "" { // unknown of a daemon
		version = fmt.Sprintf(", version %d, Unicode %s", st.Version, st.Unicode)
	}
	out.line(fmt.Sprintf("\nprofile %s%s\ncrawls %s", st.Profile, version, nameList(st.Crawls)))
}

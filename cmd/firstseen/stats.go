package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/internal/wire"
)

func newStatsCmd(a *app) *cobra.Command {
	var p place
	asJSON := false
	cmd := &cobra.Command{
		Use:     "stats (--db DIR | --redis ADDR | --daemon ADDR)",
		Short:   "Print the counts of a crawl",
		Long:    `Print the counts of a crawl, or with --crawl "*" of all. --json prints what GET /v1/stats answers.`,
		Example: `  firstseen stats --db crawl.db --crawl "*" --json`,
		Args:    noArgs,
	}
	p.reads = true
	p.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		crawls, err := c.crawls(ctx, p.crawl)
		if err != nil {
			return err
		}
		if p.crawl != "*" {
			p.crawl = crawls[0]
		}
		var st wire.Stats
		if err := c.get(ctx, "/v1/stats", url.Values{"crawl": {p.crawl}}, &st); err != nil {
			return err
		}
		return a.answer(asJSON, st, func(out *output) { writeStats(out, &st) })
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

func writeStats(out *output, st *wire.Stats) {
	row := func(n int64, what string) { out.line(fmt.Sprintf("%15s  %s", grouped(n), what)) }
	row(st.Seen, "seen")
	row(st.Held, "queued or leased")
	row(st.InFlight, "leased")
	row(st.Completed, "completed")
	row(st.Fetched, "pages fetched")
	row(st.Dropped, "dropped")
	row(st.Failed, "times dropped after a failure")
	row(st.Queues, "queues")
	row(st.Active, "queues that hold something")
	if st.Index != nil { // a store on disk
		row(st.DiskBytes, "bytes on disk, of the whole store")
		row(st.Index.Bytes, "bytes of index in memory, "+st.Index.Mode)
	}
	if set := setTexts(&st.Settings); set != "" {
		out.line("\nset for " + cmp.Or(map[string]string{"*": "all queues"}[st.Crawl], "crawl "+visible(st.Crawl)) + ": " + set)
	}
	out.line(fmt.Sprintf("\nprofile %s, version %d, Unicode %s\ncrawls %s", st.Profile, st.Version, st.Unicode, nameList(st.Crawls, "none", quoted)))
}

// listFlags choose the queues to list.
type listFlags struct {
	place         place
	queue, search string
	asJSON        bool
}

func newListCmd(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "List queues with their states (ready, paused, blocked and others)",
		Long: `List the queues of a crawl in order of name: its state, how many of its URLs are queued or leased,
when the state changes by itself, what holds the queue, its group, and how many pages were fetched and given up after a failure. docs/STEER.md explains the states. --json prints what
GET /v1/queues answers. Without a daemon, a queue that has no delay and bound of its own counts as having the
defaults of serve.`,
		Example: `  firstseen list --daemon 127.0.0.1:7072
  firstseen list --db crawl.db --queue example.org`,
		Args: noArgs,
	}
	f.place.reads = true
	f.place.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		out := newOutput(a.out)
		return errors.Join(f.run(ctx, c, out), endOutput(out, 0))
	})
	cmd.Flags().StringVar(&f.queue, "queue", "", "only the queue of this name")
	cmd.Flags().StringVar(&f.search, "search", "", "only queues whose name contains this")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write a JSON object for each queue")
	return cmd
}

// run asks for page after page of each crawl.
func (f *listFlags) run(ctx context.Context, c *client, out *output) error {
	crawls, err := c.crawls(ctx, f.place.crawl)
	if err != nil {
		return err
	}
	for _, crawl := range crawls {
		query := url.Values{"crawl": {crawl}, "queue": {f.queue}, "search": {f.search}, "limit": {"1000"}}
		for {
			var page wire.Queues
			if err := c.get(ctx, "/v1/queues", query, &page); err != nil {
				return err
			}
			for i := range page.Queues {
				f.write(out, &page.Queues[i], len(crawls) > 1)
			}
			if page.More == "" {
				break
			}
			query.Set("after", page.More)
		}
	}
	return nil
}

// write writes a queue; in text it names the crawl if there are several.
func (f *listFlags) write(out *output, q *wire.Queue, several bool) {
	if f.asJSON {
		out.json(q)
		return
	}
	next := ""
	if !q.Next.IsZero() {
		next = q.Next.UTC().Format(time.RFC3339)
	}
	text := fmt.Sprintf("%-9s  %12s  %-20s  %s", q.State, grouped(q.Held), cmp.Or(next, "-"), visible(q.Queue))
	if several {
		text += " of crawl " + visible(q.Crawl)
	}
	if q.Reason != "" {
		text += "  (" + q.Reason + ")"
	}
	if q.Group != "" {
		text += "  group " + visible(q.Group)
	}
	if q.Fetched+q.Failed > 0 {
		text += fmt.Sprintf("  %s fetched, %s failed", grouped(q.Fetched), grouped(q.Failed))
	}
	out.line(text)
}

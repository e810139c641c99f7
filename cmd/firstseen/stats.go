package main

import (
	"context"
	"fmt"
	"net/url"

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
	p.onCrawl(a, cmd, true, func(ctx context.Context, c *client, _ []string) error {
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
		out := newOutput(a.out)
		if asJSON {
			out.json(st)
		} else {
			writeStats(out, &st)
		}
		return endOutput(out, 0)
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
	row(st.Dropped, "dropped")
	row(st.Queues, "queues")
	row(st.Active, "queues that hold something")
	if st.Index != nil { // a store on disk
		row(st.DiskBytes, "bytes on disk, of the whole store")
		row(st.Index.Bytes, "bytes of index in memory, "+st.Index.Mode)
	}
	out.line(fmt.Sprintf("\nprofile %s, version %d, Unicode %s\ncrawls %s", st.Profile, st.Version, st.Unicode, nameList(st.Crawls)))
}

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/internal/wire"
)

// forgetFlags select what to forget.
type forgetFlags struct {
	place         place
	queue, before string
	urls          []string
	all, held     bool
	found         selection // --state, --reason, --match and --after, with --queue and --before
}

func newForgetCmd(a *app) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "Make URLs that were seen new again",
		Long: `Forget some URLs of a crawl, or the whole crawl: a forgotten URL counts as new when it is found again.
--before leaves queued and leased URLs as they are. With --held it forgets them too, and their leases end;
--queue then names one queue, of which only URLs whose text is kept can be found: queued and leased ones,
and completed ones if the store keeps URLs. --state, --reason, --match, --after, --fetched-before and --fetched-after select URLs as those of "firstseen find".
Daemons on a store in Redis can continue.`,
		Example: `  firstseen forget --db crawl.db --url https://example.com/a
  firstseen forget --db crawl.db --before 2026-01-31
  firstseen forget --daemon 127.0.0.1:7072 --before 2026-01-31 --held --queue example.org
  firstseen forget --daemon 127.0.0.1:7072 --crawl old --all`,
		Aliases: []string{"purge"}, // an earlier name of forget --held
		Args:    noArgs,
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		f.held = f.held || cmd.CalledAs() == "purge"
		return nil
	}
	f.complete(a, cmd)
	cmd.Flags().StringArrayVar(&f.urls, "url", nil, "a URL, in any variant; may be given several times")
	cmd.Flags().BoolVar(&f.all, "all", false, "the whole crawl, with its queues and settings")
	cmd.Flags().BoolVar(&f.held, "held", false, "with --before: queued and leased URLs too")
	typed(cmd.Flags(), "held")
	f.found.addCriteria(cmd)
	cmd.MarkFlagsOneRequired("url", "queue", "before", "all", "state", "reason", "match", "after", "fetched-before", "fetched-after")
	for _, flag := range []string{"url", "all", "held"} {
		for _, criterion := range []string{"state", "reason", "match", "after", "fetched-before", "fetched-after"} {
			cmd.MarkFlagsMutuallyExclusive(flag, criterion)
		}
	}
	return cmd
}

// complete makes cmd a command that forgets.
func (f *forgetFlags) complete(a *app, cmd *cobra.Command) {
	f.place.onCrawl(a, cmd, false, func(ctx context.Context, c *client, _ []string) error {
		if s := &f.found; s.states != nil || s.reasons != nil || s.match != nil || s.after != "" || s.fetchedBefore != "" || s.fetchedAfter != "" {
			s.place, s.queue, s.before = f.place, f.queue, f.before
			return s.change(ctx, a, c, "forget", "forgotten")
		}
		requests, err := f.requests()
		if err != nil {
			return misuse{err}
		}
		crawls, err := c.crawls(ctx, f.place.crawl)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, crawl := range crawls {
			for _, r := range requests {
				r.Crawl = crawl
				var answer wire.Forgotten
				if err := c.post(ctx, "/v1/forget", r, &answer); err != nil {
					return errors.Join(err, a.printForgotten(n, err))
				}
				n += answer.Forgotten
			}
		}
		return a.printForgotten(n, nil)
	})
	cmd.Flags().StringVar(&f.queue, "queue", "", "the URLs of a queue")
	cmd.Flags().StringVar(&f.before, "before", "", "URLs first seen before an age as 30d or 12h, a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z")
}

// printForgotten prints the number of URLs, unless it is 0 beside an error.
func (a *app) printForgotten(n int64, err error) error {
	if err != nil && n == 0 {
		return nil
	}
	out := newOutput(a.out)
	out.line(grouped(n) + " forgotten")
	return endOutput(out, 0)
}

// requests returns what to ask for in each crawl. That a request names one thing is checked where it is answered.
func (f *forgetFlags) requests() (requests []wire.ForgetRequest, err error) {
	r := wire.ForgetRequest{Queue: f.queue, All: f.all, Held: f.held}
	if f.before != "" || f.held {
		if r.Before, err = parseMoment(f.before); err != nil {
			return nil, err
		}
	}
	if len(f.urls) == 0 {
		return []wire.ForgetRequest{r}, nil
	}
	const atOnce = 64 // of the longest URLs, escaped, fit a request
	for some := range slices.Chunk(f.urls, atOnce) {
		for _, u := range some {
			r.URLs = append(r.URLs, wire.ForgetURL{URL: u, URLBytes: wire.BytesOf(u)})
		}
		requests = append(requests, r)
		r.URLs = nil
	}
	return requests, nil
}

// parseMoment reads an age, a day of UTC, or a time.
func parseMoment(s string) (time.Time, error) {
	t, err := wire.Moment(s).At(time.Now())
	if err == nil && t.IsZero() {
		err = errors.New("cannot read time; got nothing; want a day as 2026-01-31, a time as 2026-01-31T12:00:00Z, or an age as 30d")
	}
	return t, err
}

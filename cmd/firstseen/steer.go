package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/internal/wire"
)

// steering changes how URLs are handed out: of a queue, or of all.
type steering struct {
	place place
	queue string
	all   bool
	set   wire.QueueSettings
}

// complete makes cmd such a command. settings reads what it changes, of its flags and arguments.
func (s *steering) complete(a *app, cmd *cobra.Command, settings func(cmd *cobra.Command, args []string) error) *cobra.Command {
	s.place.onCrawl(a, cmd, false, func(ctx context.Context, c *client, args []string) error {
		if err := settings(cmd, args); err != nil {
			return err
		}
		if s.all {
			return c.post(ctx, "/v1/pause", wire.Pause{Paused: s.set.Paused}, &wire.Pause{})
		}
		if s.place.crawl == "*" {
			return misusef(`--crawl "*" names all crawls; a queue is of one crawl: name it`)
		}
		crawls, err := c.crawls(ctx, s.place.crawl)
		if err != nil {
			return err
		}
		s.set.Crawl, s.set.Queue = crawls[0], s.queue
		return c.post(ctx, "/v1/queue", s.set, &struct{}{})
	})
	cmd.Flags().StringVar(&s.queue, "queue", "", "the queue that is changed; it need not hold anything yet")
	return cmd
}

func (s *steering) setPaused(paused bool) { s.set.Paused = &paused }

func (s *steering) setDelay(flag, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return misusef("%s: %q is no time; want a duration such as 500ms, 2s or 1m30s", flag, text)
	}
	seconds := d.Seconds()
	s.set.DelaySeconds = &seconds
	return nil
}

// newSetCmd is the command that steers. The commands after it are its earlier forms, for scripts.
func newSetCmd(a *app) *cobra.Command {
	var s steering
	var delay, blocked string
	var paused bool
	var limit int64
	var inFlight int
	cmd := &cobra.Command{
		Use:   "set (--db DIR | --redis ADDR | --daemon ADDR) (--queue NAME | --all) --paused | --delay TIME | …",
		Short: "Pause, delay, block or limit a queue, or pause all",
		Long: `Change how URLs of a queue are handed out, durably. What is not given stays as it is. --all is about all
queues of all crawls, and can be paused alone; a queue that was paused by its name stays paused until that
is taken back by its name. During a pause, clients can offer URLs and report results.`,
		Example: `  firstseen set --daemon 127.0.0.1:7072 --queue example.org --delay 10s --limit 10000
  firstseen set --db crawl.db --all --paused
  firstseen set --db crawl.db --all --paused=false`,
		Args: noArgs,
	}
	s.complete(a, cmd, func(cmd *cobra.Command, _ []string) error {
		given := cmd.Flags().Changed
		if s.all && (given("delay") || given("blocked-until") || given("limit") || given("in-flight") || !given("paused")) {
			return misusef("--all can be paused alone; for other settings name a --queue")
		}
		if given("paused") {
			s.setPaused(paused)
		}
		if given("limit") {
			s.set.Limit = &limit
		}
		if given("in-flight") {
			s.set.MaxInFlight = &inFlight
		}
		if given("blocked-until") {
			until, err := parseDay(blocked)
			if err != nil {
				return misusef("--blocked-until: %w", err)
			}
			s.set.BlockedUntil = &until
		}
		if given("delay") {
			return s.setDelay("--delay", delay)
		}
		return nil
	})
	fs := cmd.Flags()
	fs.BoolVar(&s.all, "all", false, "all queues of all crawls")
	fs.BoolVar(&paused, "paused", false, "hand out nothing until --paused=false")
	fs.StringVar(&delay, "delay", "", "time from one hand-out to the next; 0 for none; it replaces the default of the daemon (serve --delay)")
	fs.StringVar(&blocked, "blocked-until", "", "hand out nothing before this day or time; one that is over unblocks")
	fs.Int64Var(&limit, "limit", 0, "hand out nothing once this number of pages are fetched or being fetched; 0 for no limit")
	fs.IntVar(&inFlight, "in-flight", 0, "most leases at a time; 0 for the default of the daemon")
	typed(fs, "paused", "delay", "blocked-until", "limit", "in-flight")
	cmd.MarkFlagsMutuallyExclusive("queue", "all")
	cmd.MarkFlagsOneRequired("queue", "all")
	cmd.MarkFlagsOneRequired("paused", "delay", "blocked-until", "limit", "in-flight")
	return cmd
}

func newPauseCmd(a *app, paused bool) *cobra.Command {
	var s steering
	name := "resume"
	if paused {
		name = "pause"
	}
	cmd := &cobra.Command{Use: name + " (--queue NAME | --all)", Hidden: true, Args: noArgs,
		Short: fmt.Sprintf("The same as firstseen set --paused=%v", paused)}
	s.complete(a, cmd, func(*cobra.Command, []string) error {
		s.setPaused(paused)
		return nil
	})
	cmd.Flags().BoolVar(&s.all, "all", false, "all queues of all crawls")
	cmd.MarkFlagsMutuallyExclusive("queue", "all")
	cmd.MarkFlagsOneRequired("queue", "all")
	return cmd
}

func newDelayCmd(a *app) *cobra.Command {
	var s steering
	cmd := &cobra.Command{Use: "delay --queue NAME DURATION", Hidden: true, Short: "The same as firstseen set --delay", Args: oneArg("a duration, such as 2s")}
	return s.complete(a, cmd, func(_ *cobra.Command, args []string) error { return s.setDelay("the delay", args[0]) })
}

func newLimitCmd(a *app) *cobra.Command {
	var s steering
	var completed int64
	var inFlight int
	cmd := &cobra.Command{Use: "limit --queue NAME (--completed N | --in-flight N)", Hidden: true, Short: "The same as firstseen set --limit and --in-flight", Args: noArgs}
	s.complete(a, cmd, func(cmd *cobra.Command, _ []string) error {
		if s.set.Limit = &completed; cmd.Flags().Changed("in-flight") {
			s.set.Limit, s.set.MaxInFlight = nil, &inFlight
		}
		return nil
	})
	cmd.Flags().Int64Var(&completed, "completed", 0, "the same as set --limit")
	cmd.Flags().IntVar(&inFlight, "in-flight", 0, "most leases at a time; 0 for the default")
	cmd.MarkFlagsMutuallyExclusive("completed", "in-flight")
	cmd.MarkFlagsOneRequired("completed", "in-flight")
	return cmd
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/internal/wire"
)

// Steering changes how URLs are handed out, for one of three scopes: a queue, the queues of a crawl, or all queues. A
// scope is always named: --queue, --crawl or --all. What a command changed is printed, with what held before.

// steering is a command that steers.
type steering struct {
	place place
	set   wire.QueueSettings
}

// complete makes cmd such a command. settings reads what it changes, of its flags and arguments.
func (s *steering) complete(a *app, cmd *cobra.Command, settings func(cmd *cobra.Command, args []string) error) *cobra.Command {
	s.place.onCrawl(a, cmd, false, func(ctx context.Context, c *client, args []string) error {
		if err := settings(cmd, args); err != nil {
			return err
		}
		if err := s.scope(cmd.Flags().Changed("crawl")); err != nil {
			return err
		}
		var is wire.Configured
		if err := c.post(ctx, "/v1/queue", s.set, &is); err != nil {
			return err
		}
		out := newOutput(a.out)
		out.line(configuredText(&is))
		return endOutput(out, 0)
	})
	cmd.Flags().StringVar(&s.set.Queue, "queue", "", "settings of this queue, in the crawl of --crawl")
	cmd.Flags().BoolVar(&s.set.All, "all", false, "settings of all queues of all crawls")
	cmd.Flags().BoolVar(&s.set.Create, "create", false, "the queue or the crawl may be one that is not there yet")
	typed(cmd.Flags(), "create")
	cmd.MarkFlagsMutuallyExclusive("queue", "all")
	return cmd
}

// scope checks that one is named. A crawl without a queue must be named as such: the default crawl is meant only for a queue.
func (s *steering) scope(crawlGiven bool) error {
	switch {
	case s.place.crawl == "*":
		return misusef(`--crawl "*": settings are of one crawl; for all queues of all crawls give --all alone`)
	case s.set.All && crawlGiven:
		return misusef("--all is about all crawls: leave out --crawl, or leave out --all to change that crawl alone")
	case !s.set.All && s.set.Queue == "" && !crawlGiven:
		return misusef("cannot change settings: nothing is named; give --queue NAME, --crawl NAME for all queues of a crawl, or --all for the whole store")
	case !s.set.All:
		s.set.Crawl = s.place.crawl
	}
	return nil
}

// configuredText is a line about what was changed.
func configuredText(is *wire.Configured) string {
	name := "all queues"
	switch is.Scope {
	case "queue":
		name = fmt.Sprintf("queue %s of crawl %s", visible(is.Queue), visible(is.Crawl))
	case "crawl":
		name = "crawl " + visible(is.Crawl)
	}
	var changes []string
	was, now := settingTexts(&is.Was), settingTexts(&is.Is)
	for i := range now {
		if was[i] != now[i] {
			changes = append(changes, fmt.Sprintf("%s (was %s)", now[i], was[i]))
		}
	}
	if changes == nil {
		changes = []string{"nothing changed: " + strings.Join(now, ", ")}
	}
	return name + ": " + strings.Join(changes, ", ")
}

// settingTexts says what is set, a text for each setting, always in the same order.
func settingTexts(s *wire.Settings) []string {
	paused, delay, blocked, order := "not paused", "default delay", "not blocked", "breadth first"
	if s.Paused {
		paused = "paused"
	}
	if s.DelaySeconds != nil {
		if delay = "no delay"; *s.DelaySeconds > 0 {
			delay = "delay " + time.Duration(*s.DelaySeconds*float64(time.Second)).String()
		}
	}
	if !s.BlockedUntil.IsZero() {
		blocked = "blocked until " + s.BlockedUntil.UTC().Format(time.RFC3339)
	}
	if s.Order != "" {
		order = s.Order + " first"
	}
	group := "no group"
	if s.Group != "" {
		group = "group " + visible(s.Group)
	}
	retention := "no retention"
	if s.RetentionSeconds > 0 {
		retention = "retention " + time.Duration(s.RetentionSeconds*float64(time.Second)).String()
	}
	number := func(what, none string, n int64) string {
		if n == 0 {
			return none
		}
		return what + " " + grouped(n)
	}
	return []string{paused, delay, blocked, number("limit", "no limit", s.Limit), number("in-flight", "default in-flight", int64(s.MaxInFlight)),
		number("weight", "default weight", int64(s.Weight)), order, group,
		number("queue limit", "no queue limit", s.QueueLimit), retention}
}

// setTexts says what is set, and is empty if nothing is.
func setTexts(s *wire.Settings) string {
	var set []string
	none := settingTexts(&wire.Settings{})
	for i, text := range settingTexts(s) {
		if text != none[i] {
			set = append(set, text)
		}
	}
	return strings.Join(set, ", ")
}

func (s *steering) setPaused(paused bool) { s.set.Paused = &paused }

func (s *steering) setDelay(flag, text string) error {
	if text == "default" {
		s.set.DefaultDelay = true
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return misusef("%s: %q is no time; want a duration such as 500ms, 2s or 1m30s, or default", flag, text)
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
	var limit, queueLimit int64
	var inFlight, weight int
	var group, retention string
	cmd := &cobra.Command{
		Use:   "set (--db DIR | --redis ADDR | --daemon ADDR) (--queue NAME | --crawl NAME | --all) --paused | --delay TIME | …",
		Short: "Pause, delay, block, limit or weigh a queue, a crawl, or all",
		Long: `Change how URLs are handed out, durably: those of a queue, with --crawl alone those of a crawl, or with
--all those of the whole store. What is not given stays as it is, and what was changed is printed.

A setting of a queue comes before that of its crawl, and that before the one of --all. Pauses and blocks add up: a queue
that was paused by its name stays paused when its crawl is resumed. During a pause, clients can offer URLs and report
results. A queue or crawl that is not there is an error, unless --create sets it for the time when it comes.`,
		Example: `  firstseen set --daemon 127.0.0.1:7072 --queue example.org --delay 10s --limit 10000
  firstseen set --daemon 127.0.0.1:7072 --crawl news --paused
  firstseen set --db crawl.db --all --paused=false`,
		Args: noArgs,
	}
	s.complete(a, cmd, func(cmd *cobra.Command, _ []string) error {
		given := cmd.Flags().Changed
		if given("paused") {
			s.setPaused(paused)
		}
		if given("limit") {
			s.set.Limit = &limit
		}
		if given("in-flight") {
			s.set.MaxInFlight = &inFlight
		}
		if given("order") && s.set.Order != "breadth" && s.set.Order != "depth" {
			return misusef("--order: %q is no order; want breadth or depth", s.set.Order)
		}
		if given("group") {
			s.set.Group = &group
		}
		if given("queue-limit") {
			s.set.QueueLimit = &queueLimit
		}
		if given("retention") {
			age, err := wire.ParseAge(retention)
			if err != nil {
				return misusef("--retention: %w", err)
			}
			seconds := age.Seconds()
			s.set.RetentionSeconds = &seconds
		}
		if given("weight") {
			s.set.Weight = &weight
		}
		if given("blocked-until") {
			until, err := parseMoment(blocked)
			if _, isAge := wire.ParseAge(blocked); isAge == nil {
				err = fmt.Errorf("got the age %q, which is over; want a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z", blocked)
			}
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
	fs.BoolVar(&paused, "paused", false, "hand out nothing until --paused=false")
	fs.StringVar(&delay, "delay", "", "time from one hand-out of a queue to the next; 0 for none; default takes the setting back, and that of the crawl, of --all or of serve --delay holds")
	fs.StringVar(&blocked, "blocked-until", "", "hand out nothing before this day or time; one that is over unblocks")
	fs.Int64Var(&limit, "limit", 0, "hand out nothing once this number of pages are fetched or being fetched, of a queue or over all queues of a crawl; 0 for no limit")
	fs.IntVar(&inFlight, "in-flight", 0, "most leases of a queue at a time; 0 for the default of the daemon")
	fs.IntVar(&weight, "weight", 0, "share in the rotation, 1 to 255: a queue of weight 4 is served four times as often as one of weight 1; 0 for the default")
	fs.StringVar(&s.set.Order, "order", "", "of a crawl or all, and of URLs offered from now on: breadth for the order of arrival, depth for those farthest from a seed first")
	fs.StringVar(&group, "group", "", "of a queue: the server it is on, whose queues share the delay and the bound on leases; \"\" for none; not on Redis")
	fs.Int64Var(&queueLimit, "queue-limit", 0, "of a crawl or all: the --limit of each queue that has none of its own; 0 for none")
	fs.StringVar(&retention, "retention", "", "of a crawl: how long after its last fetch a URL is new again, as 30d or 12h; 0s for the age that serve --seen-for gives; not on Redis")
	settings := []string{"paused", "delay", "blocked-until", "limit", "in-flight", "weight", "order", "group", "queue-limit", "retention"}
	typed(fs, settings...)
	cmd.MarkFlagsOneRequired(settings...)
	return cmd
}

func newPauseCmd(a *app, paused bool) *cobra.Command {
	var s steering
	name := "resume"
	if paused {
		name = "pause"
	}
	cmd := &cobra.Command{Use: name + " (--queue NAME | --crawl NAME | --all)", Hidden: true, Args: noArgs,
		Short: fmt.Sprintf("The same as firstseen set --paused=%v", paused)}
	return s.complete(a, cmd, func(*cobra.Command, []string) error {
		s.setPaused(paused)
		return nil
	})
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

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/internal/wire"
)

// Steering changes how URLs are handed out, for one of three scopes: a queue, the queues of a crawl, or all queues. A
// scope is always named: --queue, --crawl or --all. What a command changed is printed, with what held before.

// steering is the command that steers.
type steering struct {
	place place
	set   wire.QueueSettings
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

// configuredText is a line about what was changed. A queue that is unblocked waits for no failed fetches either, which is no setting.
func configuredText(is *wire.Configured, unblocks bool) string {
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
		is := "nothing changed: "
		if unblocks {
			is = "a wait for its host is over; no setting changed: "
		}
		changes = []string{is + strings.Join(now, ", ")}
	}
	return name + ": " + strings.Join(changes, ", ")
}

// settingTexts describes each setting that is in force, always in the same order.
func settingTexts(s *wire.Settings) (texts []string) {
	say := func(is bool, text, none string) {
		if !is {
			text = none
		}
		texts = append(texts, text)
	}
	number := func(what, none string, n int64) { say(n != 0, what+" "+grouped(n), none) }
	seconds := func(n float64) string { return time.Duration(n * float64(time.Second)).String() }
	say(s.Paused, "paused", "not paused")
	if d := s.DelaySeconds; d == nil {
		say(false, "", "default delay")
	} else {
		say(*d > 0, "delay "+seconds(*d), "no delay")
	}
	say(s.BlockedUntil.After(time.Now()), "blocked until "+s.BlockedUntil.UTC().Format(time.RFC3339), "not blocked")
	number("limit", "no limit", s.Limit)
	number("in-flight", "default in-flight", int64(s.MaxInFlight))
	number("weight", "default weight", int64(s.Weight))
	say(s.Order != "", s.Order+" first", "breadth first")
	say(s.Group != "", "group "+visible(s.Group), "no group")
	number("queue limit", "no queue limit", s.QueueLimit)
	say(s.RetentionSeconds > 0, "retention "+seconds(s.RetentionSeconds), "no retention")
	return texts
}

// setTexts describes the settings that are in force; it is empty if there are none.
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

// newSetCmd is the command that steers. Its aliases are earlier forms, for scripts.
func newSetCmd(a *app) *cobra.Command {
	var s steering
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
		Aliases: []string{"pause", "resume", "delay", "limit"},
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.CalledAs() == "delay" {
				return takes(1, 1, "a duration, such as 2s")(cmd, args)
			}
			return noArgs(cmd, args)
		},
	}
	fs := cmd.Flags()
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		flag, value := "paused", "true"
		switch cmd.CalledAs() {
		case "pause":
		case "resume":
			value = "false"
		case "delay":
			flag, value = "delay", args[0]
		default:
			return nil
		}
		if fs.Changed(flag) {
			return misusef("cannot run %s with --%s; want set with it", cmd.CalledAs(), flag)
		}
		if err := fs.Set(flag, value); err != nil {
			return flagError(cmd, err)
		}
		return nil
	}
	s.place.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		if err := s.scope(fs.Changed("crawl")); err != nil {
			return err
		}
		var is wire.Configured
		if err := c.post(ctx, "/v1/queue", s.set, &is); err != nil {
			return err
		}
		return a.say(configuredText(&is, s.set.Queue != "" && s.set.BlockedUntil != nil && !s.set.BlockedUntil.After(time.Now())))
	})
	fs.Lookup("crawl").Usage = "crawl of the queue; to change settings of a whole crawl, name it"
	fs.StringVar(&s.set.Queue, "queue", "", "settings of this queue, in the crawl of --crawl")
	fs.BoolVar(&s.set.All, "all", false, "settings of all queues of all crawls")
	fs.BoolVar(&s.set.Create, "create", false, "the queue or the crawl may be one that is not there yet")
	cmd.MarkFlagsMutuallyExclusive("queue", "all")
	set := &s.set
	names := []string{
		optional(fs, &set.Paused, "bool", "paused", "hand out nothing until --paused=false", strconv.ParseBool),
		asked(fs, "string", "delay", "time from one hand-out of a queue to the next; 0 for none; default takes the setting back, and that of the crawl, of --all or of serve --delay holds", s.setDelay),
		optional(fs, &set.BlockedUntil, "string", "blocked-until", "hand out nothing before this day or time, or for as long as 2h; default unblocks, and ends the wait of a host that was down", readBlocked),
		optional(fs, &set.Limit, "int64", "limit", "hand out nothing once this number of pages are fetched or being fetched, of a queue or over all queues of a crawl; 0 for no limit", parseNumber[int64]),
		optional(fs, &set.Limit, "int64", "completed", "the same as --limit", parseNumber[int64]),
		optional(fs, &set.MaxInFlight, "int", "in-flight", "most leases of a queue at a time; 0 for the default of the daemon", parseNumber[int]),
		optional(fs, &set.Weight, "int", "weight", "share in the rotation, 1 to 255: a queue of weight 4 is served four times as often as one of weight 1; 0 for the default", parseNumber[int]),
		asked(fs, "string", "order", "of a crawl or all, and of URLs offered from now on: breadth for the order of arrival, depth for those farthest from a seed first", s.setOrder),
		optional(fs, &set.Group, "string", "group", "of a queue: the server it is on, whose queues share the delay and the bound on leases; \"\" for none; on Redis in a store made with groups=true",
			func(text string) (string, error) { return text, nil }),
		optional(fs, &set.QueueLimit, "int64", "queue-limit", "of a crawl or all: the --limit of each queue that has none of its own; 0 for none", parseNumber[int64]),
		optional(fs, &set.RetentionSeconds, "string", "retention", "of a crawl: how long after its last fetch a URL is new again, as 30d or 12h; 0s for the age that serve --seen-for gives; not on Redis",
			func(text string) (float64, error) {
				age, err := wire.ParseAge(text)
				return age.Seconds(), err
			}),
	}
	fs.Lookup("paused").NoOptDefVal = "true"
	fs.Lookup("completed").Hidden = true
	cmd.MarkFlagsMutuallyExclusive("limit", "completed")
	typed(fs, append(names, "create")...)
	cmd.MarkFlagsOneRequired(names...)
	return cmd
}

// asked adds a flag without a default: what it sets stays as it is if it is not given. It returns its name.
func asked(fs *pflag.FlagSet, kind, name, usage string, set func(text string) error) string {
	fs.Var(&value{kind, set, func() string { return "" }}, name, usage)
	return name
}

// optional adds such a flag, which sets a field of a request.
func optional[T any](fs *pflag.FlagSet, to **T, kind, name, usage string, read func(text string) (T, error)) string {
	return asked(fs, kind, name, usage, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = &v
		}
		return err
	})
}

func (s *steering) setDelay(text string) error {
	if s.set.DefaultDelay = text == "default"; s.set.DefaultDelay {
		s.set.DelaySeconds = nil
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time; want a duration such as 500ms, 2s or 1m30s, or default", text)
	}
	seconds := d.Seconds()
	s.set.DelaySeconds = &seconds
	return nil
}

func (s *steering) setOrder(text string) error {
	if s.set.Order = text; text != "breadth" && text != "depth" {
		return fmt.Errorf("%q is no order; want breadth or depth", text)
	}
	return nil
}

func readBlocked(text string) (time.Time, error) {
	if text == "default" {
		return time.Time{}, nil
	}
	if d, err := wire.ParseAge(text); err == nil { // from now on
		return time.Now().Add(d), nil
	}
	return parseMoment(text)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/steer"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// steering is a command that changes how queues are served, in a store or through a daemon.
type steering struct {
	crawl, queue string
	all          bool // all queues of all crawls
	daemon       daemonFlags
	// settings returns what the command changes.
	settings func(args []string) (wire.QueueSettings, error)
}

// complete makes cmd such a command.
func (s *steering) complete(a *app, cmd *cobra.Command) *cobra.Command {
	withAnyStore(a, cmd, &pebblestore.Options{Mode: pebblestore.OpenExisting}, &s.crawl, s.inStore)
	orDaemon(cmd, &s.daemon, s.inDaemon)
	cmd.Flags().StringVar(&s.queue, "queue", "", "the queue that is changed; it need not hold anything yet")
	return cmd
}

func (s *steering) inStore(ctx context.Context, st store.Store, args []string) (err error) {
	b, change, err := s.change(args)
	if err != nil {
		return err
	}
	if !s.all {
		c, err := crawlIn(ctx, st, s.crawl)
		if err != nil {
			return err
		}
		b.Crawl = c.Name
	}
	front, err := openOver(st)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, front.Close()) }() // the store is the caller's
	if s.all {
		return steer.Pause(ctx, front, *b.Paused)
	}
	return front.Configure(ctx, b.Crawl, b.Queue, change)
}

func (s *steering) inDaemon(ctx context.Context, d *daemonClient, args []string) error {
	b, _, err := s.change(args)
	if err != nil {
		return err
	}
	if s.all {
		return d.post(ctx, "/v1/pause", wire.Pause{Paused: b.Paused}, &wire.Pause{})
	}
	if _, err := d.crawls(ctx, b.Crawl); err != nil {
		return err
	}
	return d.post(ctx, "/v1/queue", b, &struct{}{})
}

// change returns the settings, checked.
func (s *steering) change(args []string) (wire.QueueSettings, store.QueueChange, error) {
	b, err := s.settings(args)
	if err != nil || s.all {
		return b, store.QueueChange{}, err
	}
	if s.crawl == "*" {
		return b, store.QueueChange{}, misusef("cannot change a queue; got crawl %q; want one crawl", s.crawl)
	}
	b.Crawl, b.Queue = s.crawl, s.queue
	change, err := steer.ChangeOf(&b)
	if err != nil {
		err = misuse{err}
	}
	return b, change, err
}

// newPauseCmd is the command pause, or resume.
func newPauseCmd(a *app, paused bool) *cobra.Command {
	name, short := "pause", "Stop handing out URLs, of a queue or of all"
	if !paused {
		name, short = "resume", "Hand out URLs again after a pause"
	}
	cmd := &cobra.Command{
		Use:   name + " (--db DIR | --redis ADDR | --daemon ADDR) (--queue NAME | --all)",
		Short: short,
		Long: short + `. A pause is durable. --all is about all queues of all crawls; a queue that
was paused by its name stays paused until it is resumed by its name. During a pause, clients can
offer URLs and report results.`,
		Example: fmt.Sprintf("  firstseen %[1]s --daemon 127.0.0.1:7072 --queue example.org\n  firstseen %[1]s --db crawl.db --all", name),
		Args:    noArgs,
	}
	s := &steering{settings: func([]string) (wire.QueueSettings, error) { return wire.QueueSettings{Paused: &paused}, nil }}
	s.complete(a, cmd)
	cmd.Flags().BoolVar(&s.all, "all", false, "all queues of all crawls")
	wanting(cmd, oneOf("queue", "all"))
	return cmd
}

func newDelayCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delay (--db DIR | --redis ADDR | --daemon ADDR) --queue NAME DURATION",
		Short: "Set the time between two URLs of a queue",
		Long: `Set the time from one hand-out of a queue to the next, such as 500ms, 2s or 1m30s; 0 is none. It
replaces the default of the daemon (serve --delay), durably.`,
		Example: `  firstseen delay --daemon 127.0.0.1:7072 --queue example.org 10s`,
		Args:    oneArg("a duration, such as 2s"),
	}
	s := &steering{settings: func(args []string) (b wire.QueueSettings, err error) {
		d, err := time.ParseDuration(args[0])
		if err != nil || d < 0 || d > steer.MaxDelay {
			return b, misusef("cannot change the delay; got %q; want a duration of at most 168h (7 days), such as 2s", args[0])
		}
		seconds := d.Seconds()
		return wire.QueueSettings{DelaySeconds: &seconds}, nil
	}}
	return s.complete(a, cmd)
}

func newLimitCmd(a *app) *cobra.Command {
	var completed int64
	var inFlight int
	cmd := &cobra.Command{
		Use:   "limit (--db DIR | --redis ADDR | --daemon ADDR) --queue NAME (--completed N | --in-flight N)",
		Short: "Limit how many URLs of a queue are completed, or leased at the same time",
		Long: `Bound a queue, durably. With --completed it hands out no URL while that number or more are
completed; 0 removes this bound. With --in-flight at most that number are leased at a time; 0 is
the default of the daemon.`,
		Example: `  firstseen limit --daemon 127.0.0.1:7072 --queue example.org --completed 10000`,
		Args:    noArgs,
	}
	s := &steering{settings: func([]string) (b wire.QueueSettings, err error) {
		if cmd.Flags().Changed("completed") {
			b.Limit = &completed
		}
		if cmd.Flags().Changed("in-flight") {
			b.MaxInFlight = &inFlight
		}
		return b, nil
	}}
	s.complete(a, cmd)
	cmd.Flags().Int64Var(&completed, "completed", 0, "hand out nothing while this number of its URLs are completed; 0 for no limit")
	cmd.Flags().IntVar(&inFlight, "in-flight", 0, "most leases at a time; 0 for the default")
	wanting(cmd, oneOf("completed", "in-flight"))
	return cmd
}

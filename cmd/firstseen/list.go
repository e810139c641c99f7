package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/queuestate"
	"github.com/firstseen/firstseen/cmd/internal/steer"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// listFlags choose the queues to list.
type listFlags struct {
	crawl, queue, search string
	asJSON               bool
	daemon               daemonFlags
}

// listedQueue is a queue as GET /v1/queues has it.
type listedQueue struct {
	Crawl     string    `json:"crawl"`
	Queue     string    `json:"queue"`
	Held      int64     `json:"held"`
	InFlight  int64     `json:"in_flight"`
	Completed int64     `json:"completed"`
	Dropped   int64     `json:"dropped"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Next      time.Time `json:"next,omitzero"`
}

func newListCmd(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "List queues with their states (ready, paused, blocked and others)",
		Long: `List the queues of a crawl in order of name: how many URLs of it are queued or leased, its
state and the reason of it, and when the state changes by itself. SERVE.md explains the states.
Without a daemon, a queue that has no delay and bound of its own counts as having the defaults
of serve.`,
		Example: `  firstseen list --daemon 127.0.0.1:7072
  firstseen list --db crawl.db --queue example.org`,
		Args: noArgs,
	}
	withAnyStore(a, cmd, &pebblestore.Options{Mode: pebblestore.OpenReadOnly}, &f.crawl, func(ctx context.Context, s store.Store, _ []string) error {
		out := newOutput(a.out)
		return errors.Join(f.inStore(ctx, s, out), endOutput(out, 0))
	})
	orDaemon(cmd, &f.daemon, func(ctx context.Context, d *daemonClient, _ []string) error {
		out := newOutput(a.out)
		return errors.Join(f.inDaemon(ctx, d, out), endOutput(out, 0))
	})
	cmd.Flags().StringVar(&f.queue, "queue", "", "only the queue of this name")
	cmd.Flags().StringVar(&f.search, "search", "", "only queues whose name contains this")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write a JSON object for each queue")
	return cmd
}

// serveQueues are the defaults of serve.
var serveQueues = queuestate.Defaults{MaxInFlight: 1, Delay: time.Second}

func (f *listFlags) inStore(ctx context.Context, s store.Store, out *output) error {
	c, err := crawlIn(ctx, s, f.crawl)
	if err != nil {
		return err
	}
	now, defaults := time.Now(), serveQueues
	if defaults.Paused, _, err = steer.Paused(ctx, s.QueueInfo); err != nil {
		return fmt.Errorf("cannot read whether queues are paused: %w", err)
	}
	for q, err := range s.Queues(ctx, c.Stored, "") {
		if err != nil {
			return fmt.Errorf("cannot list queues: %w", err)
		}
		if f.queue != "" && q.Name != f.queue || !strings.Contains(strings.ToLower(q.Name), strings.ToLower(f.search)) {
			continue
		}
		st := queuestate.Of(&q, defaults, now)
		f.write(out, &listedQueue{Crawl: c.Name, Queue: q.Name, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed, Dropped: q.Dropped,
			State: st.Name, Reason: st.Reason, Next: st.Next})
	}
	return nil
}

// inDaemon asks for page after page.
func (f *listFlags) inDaemon(ctx context.Context, d *daemonClient, out *output) error {
	query := url.Values{"crawl": {f.crawl}, "queue": {f.queue}, "search": {f.search}, "limit": {"1000"}}
	for {
		var page struct {
			Queues []listedQueue
			More   string
		}
		if err := d.get(ctx, "/v1/queues", query, &page); err != nil {
			return err
		}
		for i := range page.Queues {
			f.write(out, &page.Queues[i])
		}
		if page.More == "" {
			return nil
		}
		query.Set("after", page.More)
	}
}

func (f *listFlags) write(out *output, q *listedQueue) {
	if f.asJSON {
		out.json(q)
		return
	}
	next := ""
	if !q.Next.IsZero() {
		next = q.Next.UTC().Format(time.RFC3339)
	}
	text := fmt.Sprintf("%-9s  %12s  %-20s  %s", q.State, grouped(q.Held), cmp.Or(next, "-"), visible(q.Queue))
	if q.Reason != "" {
		text += "  (" + q.Reason + ")"
	}
	out.line(text)
}

package client

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// Redirect reports that fetching a lease was answered by a redirect to target, absolute or relative to the
// URL of the lease, and answers whether to follow it now.
func (c *Client) Redirect(ctx context.Context, l *frontier.Lease, target string) (frontier.Redirection, error) {
	if l == nil {
		return frontier.Redirection{}, fault.As(store.ErrInvalid, "cannot redirect: there is no lease")
	}
	if err := c.enter(); err != nil {
		return frontier.Redirection{}, err
	}
	defer c.leave()
	body := wire.RedirectRequest{Crawl: l.Crawl, Queue: l.Queue, Key: hex.EncodeToString(l.Key[:]), Token: strconv.FormatUint(l.Token, 10),
		URL: l.URL, URLBytes: wire.BytesOf(l.URL), Discriminator: l.Discriminator, Target: target, TargetBytes: wire.BytesOf(target), RawMeta: true}
	var answer wire.Redirection
	resent, err := c.post(ctx, "redirect", "/v1/redirect", body, &answer)
	if resent && errors.Is(err, frontier.ErrStale) { // the first sending ended the lease
		return frontier.Redirection{Target: frontier.Result{Status: frontier.StatusDuplicate, Resent: true}}, nil
	}
	var out frontier.Redirection
	switch {
	case err != nil:
	case answer.Follow != nil:
		out.Follow, err = leaseOf(answer.Follow)
		out.Target = frontier.Result{Status: frontier.StatusDuplicate, Key: l.Key, Queue: l.Queue, First: l.URL}
	case answer.Target != nil:
		out.Target, err = resultOf(answer.Target, resent)
	default:
		err = fmt.Errorf("cannot redirect: the answer of the daemon has neither a lease nor a verdict; it may be of another version")
	}
	return out, err
}

// Configure changes the settings of a queue, of a crawl (queue "") or of all (crawl "*", queue ""), durably, as
// [frontier.Frontier.Configure] does. NotBefore and Later are not carried: then it returns ErrNotCarried.
// Limits, pauses, weights and groups, and all settings of a crawl or of all, need a token of scope admin.
func (c *Client) Configure(ctx context.Context, crawl, queue string, change store.QueueChange) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if change.NotBefore != nil || change.Later || crawl == "*" && queue != "" || !utf8.ValidString(queue+crawl) || change.Group != nil && !utf8.ValidString(*change.Group) {
		return fault.As(ErrNotCarried, "cannot configure queue %q of crawl %q; want no NotBefore, no Later, a queue of one crawl, and names in UTF-8", queue, crawl)
	}
	b := wire.QueueSettings{Queue: queue, All: crawl == "*", Create: !change.MustExist,
		MaxInFlight: change.MaxInFlight, BlockedUntil: change.BlockedUntil, Limit: change.Limit, Paused: change.Paused, Group: change.Group, QueueLimit: change.QueueLimit}
	if change.Retention != nil {
		seconds := change.Retention.Seconds()
		b.RetentionSeconds = &seconds
	}
	if !b.All {
		b.Crawl = c.opt.named(crawl)
	}
	switch d := change.Delay; {
	case d != nil && *d == 0:
		b.DefaultDelay = true
	case d != nil:
		seconds := max(*d, 0).Seconds()
		b.DelaySeconds = &seconds
	}
	if change.Weight != nil {
		weight := int(*change.Weight)
		b.Weight = &weight
	}
	if b.MaxInFlight != nil && *b.MaxInFlight < 0 {
		none := unbounded
		b.MaxInFlight = &none
	}
	_, err := c.post(ctx, "configure a queue", "/v1/queue", b, &wire.Configured{})
	return err
}

// SetDepthFirst sets whether URLs that are offered to a crawl from now on, or with "*" to all, are handed out depth first, as
// [frontier.Frontier.SetDepthFirst] does. It needs a token of scope admin.
func (c *Client) SetDepthFirst(ctx context.Context, crawl string, on bool) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	b := wire.QueueSettings{All: crawl == "*", Create: true, Order: "breadth"}
	if !b.All {
		b.Crawl = c.opt.named(crawl)
	}
	if on {
		b.Order = "depth"
	}
	_, err := c.post(ctx, "set the order of a crawl", "/v1/queue", b, &wire.Configured{})
	return err
}

var states = map[string]store.State{"seen": store.SeenOnly, "queued": store.Queued, "leased": store.Leased, "done": store.Done, "dropped": store.Dropped}

// Lookup returns the entry of a URL, in any variant: its state, times, queue, attempts, first-seen
// URL and canonical form, but not its data, priority, depth and hops. It returns
// store.ErrNotFound for a URL that was never seen, and the refusal of a URL that cannot have a key.
func (c *Client) Lookup(ctx context.Context, u frontier.Link) (frontier.Entry, error) {
	if err := c.enter(); err != nil {
		return frontier.Entry{}, err
	}
	defer c.leave()
	u.Crawl = c.opt.named(u.Crawl)
	q := url.Values{"url": {u.URL}, "crawl": {u.Crawl}, "queue": {u.Queue}, "discriminator": {u.Discriminator}}
	var w wire.Explanation
	_, err := c.ask(ctx, "look up a URL", &request{method: http.MethodGet, path: "/v1/explain?" + q.Encode()}, &w)
	switch {
	case err != nil:
		return frontier.Entry{}, err
	case w.Error != nil:
		return frontier.Entry{}, fmt.Errorf("cannot look up %q: %w", u.URL, cmp.Or(refusal(w.Error), store.ErrInvalid))
	case w.Known == nil:
		return frontier.Entry{}, fmt.Errorf("cannot look up %q: %w", u.URL, store.ErrNotFound)
	}
	e := frontier.Entry{Canonical: w.Canonical, Discriminator: u.Discriminator, Entry: store.Entry{Crawl: u.Crawl,
		Queue: w.Known.Queue, State: states[w.Known.State], URL: wire.TextOr(w.Known.First, w.Known.FirstBytes), Due: w.Known.Due, Created: w.Known.Created,
		Expires: w.Known.Expires, Attempts: w.Known.Attempts},
		Failures: w.Known.Failures, Deferrals: w.Known.Deferrals, Releases: w.Known.Releases, Expiries: w.Known.Expiries, Status: w.Known.Status, Reason: frontier.Reason(w.Known.Reason)}
	return e, decodeKey(&e.Key, w.Key)
}

// Stats returns exact counts: of one crawl, "" being that of [Options.Crawl], or of
// all with "*".
func (c *Client) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	if err := c.enter(); err != nil {
		return store.Stats{}, err
	}
	defer c.leave()
	s, err := c.stats(ctx, c.opt.named(crawl))
	return store.Stats{Seen: s.Seen, Held: s.Held, InFlight: s.InFlight, Completed: s.Completed, Dropped: s.Dropped, Fetched: s.Fetched, Failed: s.Failed, Marked: s.Marked, Queues: s.Queues, Active: s.Active}, err
}

func (c *Client) stats(ctx context.Context, crawl string) (wire.Stats, error) {
	var s wire.Stats
	r := &request{method: http.MethodGet, path: "/v1/stats?crawl=" + url.QueryEscape(crawl)}
	_, err := c.ask(ctx, "read the counts", r, &s)
	return s, err
}

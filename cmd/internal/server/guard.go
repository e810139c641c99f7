package server

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// guard is the frontier as calls reach it: each method checks that the token of the call may
// touch the crawl. It has no method that skips the check, so that no handler can forget it. A
// context without a call is refused when tokens are required. What the server does for itself,
// it does with own.
type guard struct {
	own    *frontier.Frontier // nil in a Local that only reads
	reader reader             // own, or the store of such a Local
	tokens *tokens
}

// reasonForbidden refuses a URL of a crawl that the token of its call does not list.
const reasonForbidden frontier.Reason = "forbidden"

// errOtherCrawl is why.
var errOtherCrawl = errors.New("the token is for other crawls")

// grant returns what the token of a call allows now, which a reload may have changed.
func (g *guard) grant(ctx context.Context) (*grant, error) {
	if g.tokens == nil {
		return &everything, nil
	}
	if c := callOf(ctx); c != nil {
		if have := g.tokens.of(c.token); have != nil {
			return have, nil
		}
	}
	return nil, errRevoked
}

// read returns the crawls that a call reads: of "*", with a token that lists some, these.
func (g *guard) read(ctx context.Context, crawl string) ([]string, error) {
	if have, err := g.grant(ctx); err == nil && crawl == "*" && have.crawls != nil {
		return slices.Compact(slices.Sorted(slices.Values(have.crawls))), nil
	}
	return []string{crawl}, g.check(ctx, crawl)
}

// check refuses a crawl that the token of a call does not list, and the daemon's own. "*" is all crawls.
func (g *guard) check(ctx context.Context, crawl string) error {
	if crawl == frontier.OwnCrawl {
		return status.Errorf(codes.InvalidArgument, "cannot touch crawl %q: it has settings of the daemon, and no URLs", crawl)
	}
	have, err := g.grant(ctx)
	if err == nil && !have.touches(crawl) {
		err = status.Errorf(codes.PermissionDenied, "cannot touch crawl %.200q; the token %s is for %.500s", cmp.Or(crawl, defaultCrawl), have.name, strings.Join(have.crawls, ", "))
	}
	return err
}

// permitted does something to the items whose crawls the token of a call lists, and refuses the
// others one by one: which items share a batch depends on when they arrive.
func permitted[T any](ctx context.Context, g *guard, items []T, crawlOf func(*T) string, do func(context.Context, []T) ([]frontier.Result, error)) ([]frontier.Result, error) {
	have, err := g.grant(ctx)
	if err != nil {
		return nil, err
	}
	other := func(item T) bool { return !have.touches(crawlOf(&item)) }
	if have.crawls == nil || !slices.ContainsFunc(items, other) {
		return do(ctx, items)
	}
	results := make([]frontier.Result, len(items))
	var some []T
	var places []int
	for i := range items {
		if other(items[i]) {
			results[i] = frontier.Result{Status: frontier.StatusRefused, Reason: reasonForbidden, Err: errOtherCrawl}
			continue
		}
		some, places = append(some, items[i]), append(places, i)
	}
	if len(some) == 0 {
		return results, nil
	}
	done, err := do(ctx, some)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		results[place] = done[i]
	}
	return results, nil
}

func crawlOfLink(u *frontier.Link) string { return u.Crawl }

func (g *guard) AddBatch(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return permitted(ctx, g, urls, crawlOfLink, g.own.AddBatch)
}

func (g *guard) See(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return permitted(ctx, g, urls, crawlOfLink, g.own.See)
}

func (g *guard) Peek(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return permitted(ctx, g, urls, crawlOfLink, g.own.Peek)
}

func (g *guard) Put(ctx context.Context, known []frontier.Known) ([]frontier.Result, error) {
	return permitted(ctx, g, known, func(k *frontier.Known) string { return k.Crawl }, g.own.Put)
}

// checked does something to a crawl that the token of a call lists.
func checked[T any](ctx context.Context, g *guard, crawl string, do func() (T, error)) (none T, err error) {
	if err := g.check(ctx, crawl); err != nil {
		return none, err
	}
	return do()
}

// listed lists what is in the crawls that a call reads, until the first error.
func listed[T any](ctx context.Context, g *guard, crawl string, list func(crawl string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		crawls, err := g.read(ctx, crawl)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, crawl := range crawls {
			for is, err := range list(crawl) {
				if !yield(is, err) || err != nil {
					return
				}
			}
		}
	}
}

func (g *guard) Lease(ctx context.Context, req frontier.LeaseRequest) ([]*frontier.Lease, frontier.Idle, error) {
	if err := g.check(ctx, req.Crawl); err != nil {
		return nil, frontier.Idle{}, err
	}
	return g.own.Lease(ctx, req)
}

func (g *guard) LeaseWait(ctx context.Context, req frontier.LeaseRequest, untilFinished bool) ([]*frontier.Lease, frontier.Idle, error) {
	if err := g.check(ctx, req.Crawl); err != nil {
		return nil, frontier.Idle{}, err
	}
	return g.own.LeaseWait(ctx, req, untilFinished)
}

func (g *guard) Settle(ctx context.Context, settlements []frontier.Settlement) ([]frontier.Settled, error) {
	for i := range settlements {
		if err := g.check(ctx, settlements[i].Lease.Crawl); err != nil {
			return nil, err
		}
	}
	return g.own.Settle(ctx, settlements)
}

func (g *guard) Redirect(ctx context.Context, l *frontier.Lease, target string) (frontier.Redirection, error) {
	return checked(ctx, g, l.Crawl, func() (frontier.Redirection, error) { return g.own.Redirect(ctx, l, target) })
}

func (g *guard) Full(ctx context.Context, crawl, queue string) (bool, error) {
	return checked(ctx, g, crawl, func() (bool, error) { return g.own.Full(ctx, crawl, queue) })
}

func (g *guard) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	if err := g.check(ctx, crawl); err != nil {
		return err
	}
	return g.own.Configure(ctx, crawl, queue, c)
}

func (g *guard) SetDepthFirst(ctx context.Context, crawl string, on bool) error {
	if err := g.check(ctx, crawl); err != nil {
		return err
	}
	return g.own.SetDepthFirst(ctx, crawl, on)
}

func (g *guard) SetCrawlProfile(ctx context.Context, crawl string, p *canon.Profile) error {
	if err := g.check(ctx, crawl); err != nil {
		return err
	}
	return g.own.SetCrawlProfile(ctx, crawl, p)
}

func (g *guard) Forget(ctx context.Context, crawl string, r *wire.ForgetRequest) (int64, error) {
	return checked(ctx, g, crawl, func() (int64, error) { return forgetIn(ctx, g.own, crawl, r) })
}

// Find lists the URLs that a query selects, which names one crawl or "*".
func (g *guard) Find(ctx context.Context, q frontier.Query) iter.Seq2[frontier.Entry, error] {
	return listed(ctx, g, q.Crawl, func(crawl string) iter.Seq2[frontier.Entry, error] {
		q.Crawl = crawl
		return g.own.Find(ctx, q)
	})
}

// Change does something to the URLs that a query selects.
func (g *guard) Change(ctx context.Context, q frontier.Query, do frontier.Action) (changed, excluded int64, err error) {
	if err := g.check(ctx, q.Crawl); err != nil {
		return 0, 0, err
	}
	return g.own.Change(ctx, q, do)
}

// Exclusions lists the rules of a crawl, or with "*" all.
func (g *guard) Exclusions(ctx context.Context, crawl string) ([]wire.Exclusion, error) {
	crawls, err := g.read(ctx, crawl)
	if err != nil {
		return nil, err
	}
	list, ofAll := []wire.Exclusion{}, map[string]int{} // where the rules of every crawl are, which each crawl lists first with its own counts
	for _, crawl := range crawls {
		for _, x := range g.own.Exclusions(crawl) {
			at, has := ofAll[x.Rule]
			if !has || x.Crawl != "*" {
				at, list = len(list), append(list, wire.Exclusion{Crawl: x.Crawl, Rule: x.Rule, Examples: []string{}})
			}
			if x.Crawl == "*" {
				ofAll[x.Rule] = at
			}
			is := &list[at]
			is.Refused, is.Forgotten, is.Examples = is.Refused+x.Refused, is.Forgotten+x.Forgotten, append(is.Examples, x.Examples...)
		}
	}
	return list, nil
}

// ChangeExclusions adds rules or takes them back, in a crawl or with "*" in all, and returns how many.
func (g *guard) ChangeExclusions(ctx context.Context, crawl string, rules []string, add bool) (int, error) {
	if err := g.check(ctx, crawl); err != nil || len(rules) == 0 {
		return 0, err
	}
	if add {
		return g.own.Exclude(ctx, crawl, rules...)
	}
	return g.own.Include(ctx, crawl, rules...)
}

// ExcludedBy returns the rule by which a URL of a crawl is excluded.
func (g *guard) ExcludedBy(crawl, url string) (string, bool) {
	return g.own.ExcludedBy(crawl, url)
}

func (g *guard) FindCrawl(ctx context.Context, st store.Store, crawl string) (frontier.StoredCrawl, error) {
	return checked(ctx, g, crawl, func() (frontier.StoredCrawl, error) { return frontier.FindCrawl(ctx, st, crawl) })
}

func (g *guard) Lookup(ctx context.Context, u frontier.Link) (frontier.Entry, error) {
	return checked(ctx, g, u.Crawl, func() (frontier.Entry, error) { return g.own.Lookup(ctx, u) })
}

// Settings returns the settings of a crawl, or with "*" of the store.
func (g *guard) Settings(ctx context.Context, crawl string) (store.CrawlSettings, error) {
	return checked(ctx, g, crawl, func() (store.CrawlSettings, error) { return g.reader.Settings(ctx, crawl) })
}

func (g *guard) Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	return checked(ctx, g, crawl, func() (store.QueueInfo, error) { return g.reader.Queue(ctx, crawl, queue) })
}

func (g *guard) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return listed(ctx, g, crawl, func(crawl string) iter.Seq2[store.QueueInfo, error] { return g.reader.Queues(ctx, crawl, after) })
}

func (g *guard) Entries(ctx context.Context, crawl, queue string) iter.Seq2[frontier.Entry, error] {
	return listed(ctx, g, crawl, func(crawl string) iter.Seq2[frontier.Entry, error] { return g.reader.Entries(ctx, crawl, queue) })
}

// Stats counts a crawl, or with "*" all crawls that the token of the call lists.
func (g *guard) Stats(ctx context.Context, crawl string) (sum store.Stats, err error) {
	crawls, err := g.read(ctx, crawl)
	if err != nil {
		return sum, err
	}
	for _, name := range crawls {
		st, err := g.reader.Stats(ctx, name)
		if err != nil {
			return sum, err
		}
		sum.Add(st)
	}
	return sum, nil
}

// Crawls lists the crawls of clients that the token of the call lists.
func (g *guard) Crawls(ctx context.Context) ([]string, error) {
	have, err := g.grant(ctx)
	if err != nil {
		return nil, err
	}
	names, err := g.reader.Crawls(ctx)
	return slices.DeleteFunc(names, func(name string) bool { return !have.touches(name) }), err
}

// Refusals lists the refusals of these crawls.
func (g *guard) Refusals(ctx context.Context) iter.Seq[frontier.Refusal] {
	return func(yield func(frontier.Refusal) bool) {
		have, err := g.grant(ctx)
		if err != nil || g.own == nil {
			return
		}
		for r := range g.own.Refusals() {
			if (have.crawls == nil || r.Crawl != "" && have.touches(r.Crawl)) && !yield(r) {
				return
			}
		}
	}
}

// Profile returns the profile of a crawl. It is no secret.
func (g *guard) Profile(crawl string) *canon.Profile { return g.own.Profile(crawl) }

// reader is what requests read of a frontier, or of a store without one.
type reader interface {
	Stats(ctx context.Context, crawl string) (store.Stats, error)
	Crawls(ctx context.Context) ([]string, error)
	Settings(ctx context.Context, crawl string) (store.CrawlSettings, error)
	Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error)
	Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error]
	Entries(ctx context.Context, crawl, queue string) iter.Seq2[frontier.Entry, error]
}

// allows reports whether the token of a call allows what needs a scope.
func (s *service) allows(ctx context.Context, need Scope) bool {
	have, err := s.f.grant(ctx)
	return err == nil && have.scope >= need
}

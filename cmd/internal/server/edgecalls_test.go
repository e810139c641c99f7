package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// The commands of a transcript that are one call each.

func (p *player) step(_ context.Context, a args, _ string) (string, error) {
	d, err := time.ParseDuration(a.text("by"))
	p.r.clock.step(d)
	return "", err
}

func (p *player) stats(ctx context.Context, a args, _ string) (string, error) {
	st, err := p.c.GetStats(ctx, &pb.QueueWithinCrawlParams{Key: a.text("key"), CrawlID: a.text("crawl")})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("size=%d inProcess=%d queues=%d active=%d completed=%d crawl=%s\n",
		st.Size, st.InProcess, st.NumberOfQueues, st.Counts["active_queues"], st.Counts["completed"], st.CrawlID), nil
}

func (p *player) queues(ctx context.Context, a args, _ string) (string, error) {
	l, err := p.c.ListQueues(ctx, &pb.Pagination{Start: uint32(a.num("start")), Size: uint32(a.num("size")), IncludeInactive: a.has("inactive"), CrawlID: a.text("crawl")})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%v total=%d start=%d size=%d crawl=%s\n", l.Values, l.Total, l.Start, l.Size, l.CrawlID), nil
}

func (p *player) crawls(ctx context.Context, _ args, _ string) (string, error) {
	l, err := p.c.ListCrawls(ctx, &pb.Local{})
	return fmt.Sprintln(l.GetValues()), err
}

func (p *player) urls(ctx context.Context, a args, _ string) (string, error) {
	req := &pb.ListUrlParams{Start: uint32(a.num("start")), Size: uint32(a.num("size")), Key: a.text("key"), CrawlID: a.text("crawl")}
	if a.has("filter") {
		filter, ignore := a.text("filter"), a.has("ignore-case")
		req.Filter, req.IgnoreCase = &filter, &ignore
	}
	stream, err := p.c.ListURLs(ctx, req)
	if err != nil {
		return "", err
	}
	lines, err := gather(stream.Recv, func(it *pb.URLItem) string { return p.show(it) })
	if a.has("sorted") {
		slices.Sort(lines)
	}
	return text(lines), err
}

// show writes the date relative to the clock, and only whether there is a
// creation date.
func (p *player) show(it *pb.URLItem) string {
	known := it.GetKnown()
	when := "done"
	if date := known.GetRefetchableFromDate(); date != 0 {
		when = fmt.Sprintf("due %s", relative(int64(date)-p.r.clock.Now().Unix()))
	}
	return fmt.Sprintf("%s key=%s crawl=%s %s created=%t %s", short(known.GetInfo().GetUrl()), short(known.GetInfo().GetKey()),
		known.GetInfo().GetCrawlID(), when, it.CreationDate > 0, metaText(known.GetInfo().GetMetadata()))
}

func relative(seconds int64) string {
	switch {
	case seconds > 2:
		return fmt.Sprintf("in about %d0 s", (seconds+5)/10)
	case seconds < -1_000_000:
		return "long ago"
	}
	return "now"
}

func (p *player) countURLs(ctx context.Context, a args, _ string) (string, error) {
	req := &pb.CountUrlParams{Key: a.text("key"), CrawlID: a.text("crawl")}
	if a.has("filter") {
		filter, ignore := a.text("filter"), a.has("ignore-case")
		req.Filter, req.IgnoreCase = &filter, &ignore
	}
	return long(p.c.CountURLs(ctx, req))
}

func long(n *pb.Long, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintln(n.Value), nil
}

func (p *player) status(ctx context.Context, a args, input string) (string, error) {
	u, _ := info([]string{input})
	it, err := p.c.GetURLStatus(ctx, &pb.URLStatusRequest{Url: u.Url, Key: a.text("key"), CrawlID: a.text("crawl")})
	if err != nil {
		return "", err
	}
	return p.show(it) + "\n", nil
}

func (p *player) purge(ctx context.Context, a args, _ string) (string, error) {
	return long(p.c.PurgeURLs(ctx, &pb.PurgeUrlParams{Key: a.text("key"), CrawlID: a.text("crawl"), Days: uint32(a.num("days"))}))
}

func (p *player) deleteQueue(ctx context.Context, a args, _ string) (string, error) {
	return long(p.c.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: a.text("key"), CrawlID: a.text("crawl")}))
}

func (p *player) deleteCrawl(ctx context.Context, a args, _ string) (string, error) {
	return long(p.c.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{Value: a.text("crawl")}))
}

func (p *player) block(ctx context.Context, a args, _ string) (string, error) {
	_, err := p.c.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: a.text("key"), Time: p.date(a.text("until")), CrawlID: a.text("crawl")})
	return "", err
}

func (p *player) delay(ctx context.Context, a args, _ string) (string, error) {
	_, err := p.c.SetDelay(ctx, &pb.QueueDelayParams{Key: a.text("key"), DelayRequestable: uint32(a.num("seconds")), CrawlID: a.text("crawl")})
	return "", err
}

func (p *player) limit(ctx context.Context, a args, _ string) (string, error) {
	_, err := p.c.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: a.text("key"), Limit: uint32(a.num("urls")), CrawlID: a.text("crawl")})
	return "", err
}

func (p *player) active(ctx context.Context, a args, _ string) (string, error) {
	if a.has("set") {
		if _, err := p.c.SetActive(ctx, &pb.Active{State: a.text("set") == "true"}); err != nil {
			return "", err
		}
	}
	b, err := p.c.GetActive(ctx, &pb.Local{})
	return fmt.Sprintln(b.GetState()), err
}

package frontier

import (
	"context"
	"time"
)

// A queue serves the URLs that are due by priority, then by the time at which they came due, then by arrival: breadth first. In a
// crawl that is depth first, a URL that is offered without a due time gets one that has long passed, and the earlier the
// deeper it is. So the store, which knows no depths, serves the deepest first, and those of one depth in the order in which they were found: with
// one fetcher for each queue, just as a walk over the tree of links would. URLs that were due at a time, retries among them, come after these.
//
// Nothing else reads these times: Entry shows when the URL was found.

// depthFirst is kept as a rule of the crawls that are so. No exclusion contains a zero byte.
const depthFirst = "\x00depth-first"

// deepest bounds the depths that make a difference.
const deepest = 1 << 20

// dueAt is the due time of a URL of some depth.
func dueAt(depth int) time.Time {
	return time.UnixMilli(deepest - int64(min(max(depth, 0), deepest-1)))
}

// isOrder reports whether a due time stands for a depth.
func isOrder(due time.Time) bool { return !due.IsZero() && !due.After(dueAt(0)) }

// SetDepthFirst sets whether URLs offered to a crawl from now on ("" is that of [Options.Crawl], "*" all) are handed out
// depth first: within a queue and a priority, the greatest [Link.Depth] first. The default is breadth first: in order of
// arrival. The setting is durable; other frontiers on a shared store follow it within seconds. URLs already queued keep
// their order.
func (f *Frontier) SetDepthFirst(ctx context.Context, crawl string, on bool) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.leave()
	c, err := f.crawlOrAll(ctx, crawl)
	if err != nil {
		return err
	}
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	if _, err := f.readExclusions(ctx); err != nil { // another frontier may have changed it
		return err
	}
	if (*f.exclusions.sets.Load())[c.name].isDeep() == on {
		return nil
	}
	if err := keepRules(ctx, f.store, c.name, []string{depthFirst}, on); err != nil {
		return err
	}
	_, err = f.readExclusions(context.WithoutCancel(ctx))
	return err
}

// DepthFirst reports whether a crawl, or with "*" every crawl, is set to depth first.
func (f *Frontier) DepthFirst(crawl string) bool {
	return (*f.exclusions.sets.Load())[f.named(crawl)].isDeep()
}

// deepFirst reports whether URLs of a crawl are queued by depth.
func (f *Frontier) deepFirst(crawl string) bool {
	sets := *f.exclusions.sets.Load()
	return len(sets) > 0 && (sets["*"].isDeep() || sets[crawl].isDeep())
}

func (s *ruleSet) isDeep() bool { return s != nil && s.deep }

package frontier

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// crawlsAtOnce bounds how many crawls of one call are written at the same time.
// Their steps share the syncs of the disk.
const crawlsAtOnce = 32

// crawlStep writes what a call has for one crawl. It returns a function that reports
// to Options.OnEvent what became durable, nil for nothing, also with an error.
type crawlStep[G any] func(context.Context, G) (report func(), err error)

// stepPerCrawl calls step with each group, which holds what a call has for one
// crawl, from up to crawlsAtOnce goroutines, and the reports on its own. After ctx
// ends, or a step fails, it begins no other step. It returns the error of the first
// step that failed, or that of ctx.
func stepPerCrawl[G any](ctx context.Context, groups []G, step crawlStep[G]) error {
	reports := make([]func(), len(groups))
	defer func() {
		for _, report := range reports {
			if report != nil {
				report()
			}
		}
	}()
	switch len(groups) {
	case 0:
		return nil
	case 1:
		var err error
		reports[0], err = step(ctx, groups[0])
		return err
	}
	steps, stepCtx := errgroup.WithContext(ctx)
	steps.SetLimit(crawlsAtOnce)
	for i, group := range groups {
		if stepCtx.Err() != nil {
			break
		}
		steps.Go(func() (err error) {
			reports[i], err = step(stepCtx, group)
			return err
		})
	}
	if err := steps.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

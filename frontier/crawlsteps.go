package frontier

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// crawlsAtOnce bounds how many crawls of one call are written at the same time.
// Their steps share the syncs of the disk.
const crawlsAtOnce = 32

// stepPerCrawl calls step with each group, which holds what a call has for one
// crawl, from up to crawlsAtOnce goroutines. After ctx ends, or a step fails, it
// begins no other step. It returns the error of the first step that failed, or
// that of ctx.
func stepPerCrawl[G any](ctx context.Context, groups []G, step func(context.Context, G) error) error {
	switch len(groups) {
	case 0:
		return nil
	case 1:
		return step(ctx, groups[0])
	}
	steps, stepCtx := errgroup.WithContext(ctx)
	steps.SetLimit(crawlsAtOnce)
	for _, group := range groups {
		if stepCtx.Err() != nil {
			break
		}
		steps.Go(func() error { return step(stepCtx, group) })
	}
	if err := steps.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

package frontier

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// Configure changes the settings of a queue, of a crawl (queue "") or of all (crawl "*", queue ""),
// durably. Nil fields keep their settings. A pointer to 0 resets a setting: then that of the next
// level applies (queue, crawl, all, Options).
func (f *Frontier) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	_, err := withCrawl(ctx, f, crawl, func(stored string) (struct{}, error) {
		return struct{}{}, f.store.Configure(ctx, stored, queue, c)
	})
	if err != nil {
		return err // which names what can't be configured
	}
	f.rooms.wake(f.crawls.named(crawl))
	return nil
}

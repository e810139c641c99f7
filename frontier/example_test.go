package frontier_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/memstore"
)

// A frontier in memory: nothing to set up, nothing left behind.
func Example() {
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()

	for _, url := range []string{"https://example.com/?b=2&a=1", "HTTPS://EXAMPLE.com:443/?a=1&b=2#top"} {
		r, err := f.Add(ctx, url)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Status, r.Canonical)
	}
	for lease, err := range f.Leases(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fetch", lease.URL)
		if err := f.Done(ctx, lease); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// new https://example.com/?a=1&b=2
	// duplicate https://example.com/?a=1&b=2
	// fetch https://example.com/?b=2&a=1
}

// The links of a page are offered in one batch: one atomic, durable step.
func ExampleFrontier_AddBatch() {
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	results, err := f.AddBatch(context.Background(), []frontier.Link{
		{URL: "http://example.com/a", Priority: 7},
		{URL: "http://example.com/a#part"},
		{URL: "http://example.com/x/x/x/x/x/x/"},
		{URL: "http://example.com/a", Discriminator: "POST"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		if r.Status == frontier.StatusRefused {
			fmt.Println("refused:", r.Reason)
			continue
		}
		fmt.Println(r.Status)
	}
	// Output:
	// new
	// duplicate
	// refused: repeated-segments
	// new
}

// A redirect to another spelling of the same page is to be followed; one to
// another page is a link.
func ExampleFrontier_Redirect() {
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()
	if _, err := f.Add(ctx, "http://example.com//docs"); err != nil {
		log.Fatal(err)
	}
	lease, err := f.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	r, err := f.Redirect(ctx, lease, "http://example.com/docs")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("follow", r.Follow.URL)
	r, err = f.Redirect(ctx, r.Follow, "http://example.com/docs/start")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Follow == nil, r.Target.Status)
	// Output:
	// follow http://example.com/docs
	// true new
}

// What a server asks for with Retry-After holds for its whole queue. SettleResponse
// does this by itself.
func ExampleFrontier_Settle() {
	f, err := frontier.New(memstore.New(memstore.Options{}), frontier.Options{Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()
	if _, err := f.AddBatch(ctx, []frontier.Link{{URL: "http://example.com/1"}, {URL: "http://example.com/2"}}); err != nil {
		log.Fatal(err)
	}
	lease, err := f.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	answers, err := f.Settle(ctx, []frontier.Settlement{{Lease: lease, Outcome: frontier.Retry, At: later, BlockQueue: later}})
	if err != nil {
		log.Fatal(err)
	}
	leases, _, err := f.Lease(ctx, frontier.LeaseRequest{Max: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answers[0], len(leases))
	// Output: ok 0
}

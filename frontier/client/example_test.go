package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store/memstore"
)

// open is all that changes when a crawler moves to a daemon.
func open(ctx context.Context) (frontier.Interface, error) {
	if addr := os.Getenv("DAEMON"); addr != "" {
		return client.Open(ctx, client.Options{Addr: addr})
	}
	return frontier.New(memstore.New(memstore.Options{}), frontier.Options{Delay: -1})
}

// A crawler that doesn't know where its frontier is.
func Example() {
	ctx := context.Background()
	f, err := open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Add(ctx, "http://example.org/"); err != nil {
		log.Fatal(err)
	}
	for lease, err := range f.Leases(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fetch", lease.URL)
		links := map[string][]string{"http://example.org/": {"/a?x=1&y=2", "/a?y=2&x=1#top", "/b"}}[lease.URL]
		for i := range links {
			links[i] = "http://example.org" + links[i]
		}
		if _, err := f.AddBatch(ctx, frontier.Links(lease, links...)); err != nil {
			log.Fatal(err)
		}
		if err := f.Done(ctx, lease); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// fetch http://example.org/
	// fetch http://example.org/a?x=1&y=2
	// fetch http://example.org/b
}

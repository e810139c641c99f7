package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

func Example() {
	ctx := context.Background()
	s := memstore.New(memstore.Options{})
	defer s.Close()

	verdicts, _ := s.Add(ctx, "", []store.Item{
		{Key: store.Key{1}, Queue: "example.org", URL: "http://example.org/"},
		{Key: store.Key{1}, Queue: "example.org", URL: "http://EXAMPLE.org/"},
	}, store.AddOptions{WantFirst: true})
	fmt.Println(verdicts[0].Status)
	fmt.Println(verdicts[1].Status, "of", verdicts[1].First)

	taken, _ := s.Take(ctx, store.TakeRequest{Lease: time.Minute})
	l := taken.Leases[0]
	fmt.Println("fetch", l.URL)

	answer, _ := s.Settle(ctx, "", []store.Settlement{{Key: l.Key, Token: l.Token, Outcome: store.Complete}})
	fmt.Println(answer[0] == store.Settled)
	// Output:
	// new
	// duplicate of http://example.org/
	// fetch http://example.org/
	// true
}

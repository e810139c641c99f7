package redisstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// It is compiled and not run: it needs a cluster.
func Example() {
	ctx := context.Background()
	s, err := redisstore.Open(ctx, redisstore.Options{
		Addrs: []string{"10.0.0.1:6379", "10.0.0.2:6379"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Prepare(ctx, store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil { // frontier.New does it, too
		log.Fatal(err)
	}
	url := "https://example.org/"
	item := store.Item{Key: hashkey.SumShort([]byte(url)), Queue: "example.org", URL: url}
	verdicts, err := s.Add(ctx, "", []store.Item{item}, store.AddOptions{})
	if err != nil {
		log.Fatal(err) // it is not known what became of it: offer it again
	}
	fmt.Println(verdicts[0].Status)
}

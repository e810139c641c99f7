package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// A filter needs only Prepare, which says how its keys are made, and See: the caller that gets "new" may
// fetch, and no other. The function takes any backend.
func Example() {
	fresh := func(s store.Store, canonical ...string) ([]bool, error) {
		keys := make([]store.Key, len(canonical))
		for i, c := range canonical {
			keys[i] = hashkey.SumShortString(c)
		}
		answers := make([]bool, len(keys))
		return answers, s.See(context.Background(), store.DefaultCrawl, keys, answers, store.SeeOptions{})
	}

	s := memstore.New(memstore.Options{}) // or pebblestore.Open, or redisstore.Open
	defer s.Close()
	if err := s.Prepare(context.Background(), store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil {
		log.Fatal(err)
	}
	for _, batch := range [][]string{
		{"http://example.org/", "http://example.org/a", "http://example.org/"},
		{"http://example.org/a", "http://example.org/b"},
	} {
		answers, err := fresh(s, batch...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answers)
	}
	// Output:
	// [true true false]
	// [false true]
}

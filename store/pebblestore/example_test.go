package pebblestore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func Example() {
	s, err := pebblestore.Open("demo", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	// The keys are those of canonical forms of this profile. A store keeps to the profile it was prepared for.
	if err := s.Prepare(context.Background(), store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil {
		log.Fatal(err)
	}

	keys := []store.Key{
		hashkey.SumShort([]byte("http://example.com/")),
		hashkey.SumShort([]byte("http://example.com/about")),
		hashkey.SumShort([]byte("http://example.com/")),
	}
	fresh := make([]bool, len(keys))
	if err := s.See(context.Background(), "", keys, fresh, store.SeeOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(fresh)
	// Output: [true true false]
}

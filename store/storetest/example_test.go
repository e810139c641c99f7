package storetest_test

import (
	"testing"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/storetest"
)

// The body of a backend's TestStore. The suite opens as many stores as it needs. A durable backend also
// sets Reopen.
func ExampleRun() {
	_ = func(t *testing.T) {
		storetest.Run(t, storetest.Backend{
			Open: func(_ testing.TB, env storetest.Env) store.Store {
				return memstore.New(memstore.Options{Clock: env.Clock, KeepURLs: env.KeepURLs})
			},
		})
	}
}

package memstore_test

import (
	"testing"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		MaxBytes: true,
		Groups:   true,
		Open: func(_ testing.TB, env storetest.Env) store.Store {
			return memstore.New(memstore.Options{Clock: env.Clock, KeepURLs: env.KeepURLs})
		},
	})
}

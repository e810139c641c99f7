//go:build !soak

package main

import "github.com/firstseen/firstseen/store"

// storeClock is nil: the machine's clock. A soak has another.
func storeClock() store.Clock { return nil }

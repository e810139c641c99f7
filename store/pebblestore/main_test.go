package pebblestore

import (
	"log/slog"
	"os"
	"testing"
)

// TestMain drops what the stores of the tests log about leases that are left.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

func TestStatusIsThatOfTheWorst(t *testing.T) {
	broken := errors.New("disk full")
	for _, c := range []struct {
		errs []error
		want int
	}{
		{nil, statusOK},
		{[]error{nil, errRefused, nil}, statusRefused},
		{[]error{broken, errRefused, nil}, statusFailed},
		{[]error{errRefused, broken}, statusFailed},
		{[]error{misusef("wrong flag")}, statusMisuse},
	} {
		a := &app{err: discard{}}
		if got := a.status(&cobra.Command{}, running(func(*cobra.Command, []string) error { return worst(c.errs...) })(nil, nil)); got != c.want {
			t.Errorf("%v: got status %d; want %d", c.errs, got, c.want)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestProgressLine(t *testing.T) {
	c := &replay.Counters{}
	c.URLs.Store(2_000_000)
	c.Exact.Store(1_500_000)
	c.Unique.Store(12_345)
	for _, x := range []struct {
		read, total int64
		want        string
	}{
		{0, 0, "2,000,000 URLs, 1,000,000/s, 75.0 % exact, 12,345 unique"},
		{25, 100, "2,000,000 URLs, 1,000,000/s, 75.0 % exact, 12,345 unique, 25.0 % of the input, 6s left"},
		{100, 100, "2,000,000 URLs, 1,000,000/s, 75.0 % exact, 12,345 unique, 100.0 % of the input, 0s left"},
	} {
		if got := progressLine(c, x.read, x.total, 2*time.Second); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
}

// runCommand runs a command line in this process.
func runCommand(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

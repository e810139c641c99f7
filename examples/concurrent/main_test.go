package main

import (
	"context"
	"os"
	"testing"
)

func Example() {
	if err := run(context.Background(), "", 16); err != nil {
		os.Stderr.WriteString(err.Error())
	}
	// Output:
	// 30 leased, 30 done
	// 30 pages served, 0 of them more than once
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, "", 4); err == nil {
		t.Error("got no error; want the context's: the seed was not added")
	}
}

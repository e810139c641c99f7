package main

import (
	"context"
	"os"
	"testing"
)

func Example() {
	if err := run(context.Background(), "", "", 9); err != nil {
		os.Stderr.WriteString(err.Error())
	}
	// Output:
	// 41 links: 8 new, 24 duplicate, 9 refused
	// 9 pages served, 0 of them more than once
	// finished: nothing is left to fetch
}

func TestOnDisk(t *testing.T) {
	dir := t.TempDir()
	for _, crawl := range []string{"", "another"} {
		if err := run(context.Background(), dir, crawl, 9); err != nil {
			t.Fatal(err)
		}
	}
}

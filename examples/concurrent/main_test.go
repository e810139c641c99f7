package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func Example() {
	if err := run(context.Background(), "", "", 16); err != nil {
		os.Stderr.WriteString(err.Error())
	}
	// Output:
	// 30 leased, 30 done
	// 30 pages served, 0 of them more than once
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, "", "", 4); err == nil {
		t.Error("got no error; want the context's: the seed was not added")
	}
}

// TestPageThatCannotBeReadToItsEnd: it is fetched again, not taken for one with fewer links.
func TestPageThatCannotBeReadToItsEnd(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "http://a.example/\n"+strings.Repeat("x", 100_000)+"\nhttp://b.example/\n") // a client that went away
	}))
	defer site.Close()
	c := crawler{client: site.Client()}
	if links, err := c.fetch(t.Context(), site.URL); err == nil {
		t.Errorf("got %d links and no error; want an error", len(links))
	}
}

package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestFetchedReachesTheDaemon: what fetches gave is among the daemon's captures, and
// what of it can't be sent keeps no lease from being settled.
func TestFetchedReachesTheDaemon(t *testing.T) {
	d := newDaemon(t)
	c := d.open(t, client.Options{MaxInFlight: -1})
	add(t, c, frontier.Link{URL: "http://a.example/1"}, frontier.Link{URL: "http://a.example/2"}, frontier.Link{URL: "http://a.example/3"})
	for _, f := range []frontier.Fetched{
		{Status: 200, Digest: "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
		{Status: -1, Digest: "sha1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", Time: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Status: 200, Digest: "\xff"},
	} {
		answers, err := c.Settle(bg, []frontier.Settlement{{Lease: next(t, c), Outcome: frontier.Done, Fetched: &f}})
		if err != nil || answers[0] != frontier.OK {
			t.Fatalf("%+v: got %v, %v; want the lease settled", f, answers, err)
		}
	}
	hang.Until(t, "the captures of two fetches are kept", func() bool { // a moment later
		got := d.captures(t)
		return strings.Count(got, "http://a.example/") == 2 && strings.Contains(got, "AAAA") && strings.Contains(got, "BBBB")
	})
}

// captures is what the daemon kept of fetches.
func (d *daemon) captures(t *testing.T) string {
	t.Helper()
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := h.Get("http://" + d.http + "/v1/captures")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

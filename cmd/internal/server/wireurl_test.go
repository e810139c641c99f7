package server

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestURLsNotInUTF8OverGRPC offers URLs as bytes among others: gRPC cannot carry such bytes, so a
// fetcher gets them escaped, its results count, and no list ends at one.
func TestURLsNotInUTF8OverGRPC(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	var lines strings.Builder
	want := []string{"http://a.com/1", "http://a.com/2", "http://a.com/caf%E9é\ufffd", "http://a.com/caf%E8"}
	for _, url := range []string{"http://a.com/1", "http://a.com/caf\xe9é\ufffd", "http://a.com/caf\xe8", "http://a.com/2"} {
		fmt.Fprintf(&lines, "{\"url_bytes\":%q}\n", base64.StdEncoding.EncodeToString([]byte(url)))
	}
	r.sendLines(t, "/v1/urls", strings.NewReader(lines.String()))
	slices.Sort(want)

	got := drain(t, func() (interface{ Recv() (*pb.URLInfo, error) }, error) {
		return r.client(t).GetURLs(t.Context(), &pb.GetParams{MaxQueues: 1, MaxUrlsPerQueue: 10})
	}, (*pb.URLInfo).GetUrl)
	if !slices.Equal(got, want) {
		t.Errorf("GetURLs: got %q; want %q", got, want)
	}
	list := func() []string {
		return drain(t, func() (interface{ Recv() (*pb.URLItem, error) }, error) {
			return r.client(t).ListURLs(t.Context(), &pb.ListUrlParams{CrawlID: "DEFAULT"})
		}, func(i *pb.URLItem) string { return i.GetKnown().GetInfo().GetUrl() })
	}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("ListURLs: got %q; want %q", got, want)
	}

	var results []*pb.URLItem
	for _, url := range want {
		results = append(results, &pb.URLItem{Item: &pb.URLItem_Known{Known: &pb.KnownURLItem{Info: &pb.URLInfo{Url: url, CrawlID: "DEFAULT"}}}})
	}
	r.put(t, results...)
	st, err := r.client(t).GetStats(t.Context(), &pb.QueueWithinCrawlParams{CrawlID: "DEFAULT"})
	if err != nil || st.Size != 0 || st.Counts["completed"] != 4 {
		t.Errorf("got %v, %v; want all four completed by their results", st, err)
	}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("ListURLs of completed URLs: got %q; want %q", got, want)
	}
}

// drain reads a stream to its end and returns a text of each message, sorted.
func drain[M any](t *testing.T, call func() (interface{ Recv() (*M, error) }, error), text func(*M) string) (texts []string) {
	t.Helper()
	stream, err := call()
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			slices.Sort(texts)
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text(m))
	}
}

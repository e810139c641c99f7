package server

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestDumpRoundTrip does what the peer's client does to move a crawl: list it
// as JSON, delete it, and put the lines back. Keys, metadata and dates stay.
func TestDumpRoundTrip(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	c := r.client(t)
	p := &player{t: t, r: r, c: c}
	if _, err := p.put(t.Context(), args{}, strings.TrimSpace(`
http://a.com/1 crawl=x m.a=1,2 m.b=3
http://a.com/2 crawl=x key=other
http://a.com/3 crawl=x known=0
http://a.com/4 crawl=x known=2000000000 m.c=d
http://under_score.com/ crawl=x known=5`)); err != nil {
		t.Fatal(err)
	}
	before := dump(t, c)
	if n, err := c.DeleteCrawl(t.Context(), &pb.DeleteCrawlMessage{Value: "x"}); err != nil || n.Value != 5 {
		t.Fatalf("deleted %v, %v; want 5", n, err)
	}
	out := r.request(t, "POST", "/v1/import", strings.Join(before, "\n"))
	if n := strings.Count(out, `"status":"OK"`); n != 5 {
		t.Errorf("got %s; want 5 times OK", out)
	}
	after := dump(t, c)
	for i := range max(len(before), len(after)) {
		if i >= len(before) || i >= len(after) || !sameItem(t, before[i], after[i]) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
			break
		}
	}
}

func dump(t *testing.T, c pb.URLFrontierClient) []string {
	t.Helper()
	stream, err := c.ListURLs(t.Context(), &pb.ListUrlParams{CrawlID: "x", Size: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for {
		it, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := protojson.Marshal(it)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
}

// sameItem compares all but the date of creation, which is the server's.
func sameItem(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y pb.URLItem
	if err := errors.Join(protojson.Unmarshal([]byte(a), &x), protojson.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	x.CreationDate, y.CreationDate = 0, 0
	return proto.Equal(&x, &y)
}

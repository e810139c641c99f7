package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestOneOfAHostByHTTP: unless a client asks for more, one URL of a host is out
// at a time. URLFrontier's protocol has its own bound, and none unasked.
func TestOneOfAHostByHTTP(t *testing.T) {
	r := startWith(t, canon.Qiita(), Config{}, func(o *frontier.Options) { o.Delay = -1 })
	var offered strings.Builder
	for i := range 8 {
		fmt.Fprintf(&offered, `{"url":"http://a.com/%d"}`+"\n", i)
	}
	r.request(t, "POST", "/v1/urls", offered.String())
	for _, tt := range []struct {
		body string
		want int
	}{
		{`{"max":10}`, 1},
		{`{"max":10}`, 0},
		{`{"max":10,"delay_seconds":0,"max_queues":1}`, 0},
		{`{"max":10,"max_in_flight":2}`, 1},
		{`{"max":10,"max_per_queue":4}`, 2},
		{`{"max":10,"max_per_queue":2,"max_in_flight":9}`, 2},
	} {
		if got := strings.Count(r.request(t, "POST", "/v1/lease", tt.body), `"token"`); got != tt.want {
			t.Errorf("%s: got %d leases; want %d", tt.body, got, tt.want)
		}
	}
	stream, err := r.client(t).GetURLs(t.Context(), &pb.GetParams{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := gather(stream.Recv, (*pb.URLInfo).GetUrl); err != nil || len(got) != 2 {
		t.Errorf("got %q over gRPC, %v; want the 2 that were left", got, err)
	}
}

// TestTrapsByProtocol checks that traps are refused over HTTP, and over gRPC only if the server is
// configured so.
func TestTrapsByProtocol(t *testing.T) {
	trap := "http://a.com" + strings.Repeat("/x", 9)
	for _, over := range []bool{false, true} {
		r := start(t, canon.Qiita(), Config{TrapsOverGRPC: over})
		if got := r.request(t, "POST", "/v1/urls", `{"url":"`+trap+`"}`); !strings.Contains(got, `"repeated-segments"`) {
			t.Errorf("by HTTP: got %s; want it refused", got)
		}
		want := pb.AckMessage_OK
		if over {
			want = pb.AckMessage_SKIPPED
		}
		if got := ackOf(t, r, trap); got != want {
			t.Errorf("over gRPC, traps there %t: got %v; want %v", over, got, want)
		}
		if got := r.request(t, "POST", "/v1/urls", `{"url":"`+trap+`/y","skip_traps":true}`); !strings.Contains(got, `"new"`) {
			t.Errorf("with skip_traps: got %s; want it new", got)
		}
	}
}

// ackOf puts a discovered URL over gRPC.
func ackOf(t *testing.T, r *running, url string) pb.AckMessage_Status {
	t.Helper()
	stream, err := r.client(t).PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	item := &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: url}}}}
	if err := errors.Join(stream.Send(item), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	ack, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return ack.Status
}

// TestDelayFollowsTheFetch checks that the next fetch waits in proportion to the duration that a client
// reports.
func TestDelayFollowsTheFetch(t *testing.T) {
	r := startWith(t, canon.Qiita(), Config{}, func(o *frontier.Options) {
		o.Delay, o.Adaptive = -1, 2
	})
	for i, seconds := range []int{600, 0} {
		host := fmt.Sprintf("http://host%d.com/", i)
		r.request(t, "POST", "/v1/urls", `{"url":"`+host+`1"}`+"\n"+`{"url":"`+host+`2"}`)
		out := r.request(t, "POST", "/v1/lease", `{}`)
		done := fmt.Sprintf(`{"leases":[{"key":"KEY0","token":"TOKEN0","took_seconds":%d}]}`, seconds)
		r.request(t, "POST", "/v1/done", leaseVars(out).Replace(done))
		next := r.request(t, "POST", "/v1/lease", `{}`)
		if waits := !strings.Contains(next, `"token"`); waits != (seconds > 0) {
			t.Errorf("after %d s: got a wait %t; want %t", seconds, waits, seconds > 0)
		}
	}
	if got := r.request(t, "POST", "/v1/done", `{"leases":[{"key":"00000000000000000000000000000000","token":"7","took_seconds":-1}]}`); !strings.HasPrefix(got, "400") {
		t.Errorf("got %s; want 400 for a negative time", got)
	}
}

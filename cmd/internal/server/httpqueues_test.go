package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// queueStates are all states.
var queueStates = []string{stateReady, stateInFlight, stateDelayed, stateBlocked, statePaused, stateLimited, stateEmpty}

// TestQueueStates leases, blocks and pauses, and asks why no URL of the queue is handed out.
func TestQueueStates(t *testing.T) {
	s := start(t, canon.Qiita(), Config{Queues: QueueDefaults{MaxInFlight: 1}})
	ask := func(query string) wire.Queue {
		t.Helper()
		_, body, _ := strings.Cut(s.request(t, "GET", "/v1/queues?"+query, ""), "\n")
		var a wire.Queues
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Queues) != 1 || !slices.Contains(queueStates, a.Queues[0].State) {
			t.Fatalf("got %s, %v; want one queue in a state", body, err)
		}
		return a.Queues[0]
	}
	s.request(t, "POST", "/v1/urls", "{\"url\":\"http://a.com/1\"}\n{\"url\":\"http://a.com/2\"}\n")
	if got := ask("search=a.c"); got.State != stateReady || got.Reason != "" {
		t.Errorf("got %+v; want ready", got)
	}
	s.request(t, "POST", "/v1/lease", `{"max":1,"lease_seconds":600}`)
	got := ask("queue=a.com")
	if left := time.Until(got.Next); got.State != stateInFlight || got.Reason == "" || left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("got %+v; want in-flight for the 600 s of its lease", got)
	}
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.request(t, "POST", "/v1/queue", `{"queue":"a.com","blocked_until":"`+until+`"}`)
	if got := ask("queue=a.com"); got.State != stateBlocked || !strings.Contains(got.Reason, until) || got.Next.UTC().Format(time.RFC3339) != until {
		t.Errorf("got %+v; want blocked until %s", got, until)
	}
	if got := s.request(t, "GET", "/v1/queues?queue=none.com", ""); !strings.Contains(got, `{"queues":[]}`) {
		t.Errorf("got %s; want no queue", got)
	}
}

// TestOpenAPIStates asserts that the states that are described are all that there are.
func TestOpenAPIStates(t *testing.T) {
	names, err := json.Marshal(queueStates)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.NewReplacer("\n", "", " ", "").Replace(string(openAPI))
	if !strings.Contains(flat, `"enum":`+string(names)) {
		t.Errorf("want %s as the states of a queue", names)
	}
}

// TestQueuesByWaiting lists the queues of one crawl, of all and of those that a token may touch, most
// waiting URLs first, with the delay that is in force.
func TestQueuesByWaiting(t *testing.T) {
	const oneToken = "0123456789abcdef"
	s := start(t, canon.Qiita(), Config{TokensFile: tokenFile(t, "admin "+bossToken+"\nread "+oneToken+" crawls=one\n"), Queues: QueueDefaults{Delay: 90 * time.Second}})
	var lines strings.Builder
	for _, q := range []struct {
		crawl, host string
		urls        int
	}{{"one", "a.com", 1}, {"one", "b.com", 5}, {"one", "c.org", 3}, {"two", "a.com", 4}, {"two", "d.com", 3}} {
		for i := range q.urls {
			fmt.Fprintf(&lines, "{\"url\":\"http://%s/%d\",\"crawl\":%q}\n", q.host, i, q.crawl)
		}
	}
	s.requestWith(t, bossToken, "POST", "/v1/urls", lines.String())
	s.requestWith(t, bossToken, "POST", "/v1/queue", `{"crawl":"one","queue":"b.com","delay_seconds":7}`)
	s.requestWith(t, bossToken, "POST", "/v1/queue", `{"crawl":"one","queue":"c.org","delay_seconds":0}`)
	s.requestWith(t, bossToken, "POST", "/v1/lease", `{"crawl":"two","max":2}`)
	for _, c := range []struct{ token, query, want string }{
		{bossToken, "crawl=*", "one/b.com one/c.org two/a.com two/d.com one/a.com"},
		{bossToken, "crawl=*&limit=2", "one/b.com one/c.org"},
		{bossToken, "crawl=*&search=.org", "one/c.org"},
		{bossToken, "crawl=two", "two/a.com two/d.com"},
		{bossToken, "crawl=none", ""},
		{oneToken, "crawl=*", "one/b.com one/c.org one/a.com"},
	} {
		_, body, _ := strings.Cut(s.requestWith(t, c.token, "GET", "/v1/queues?order=waiting&"+c.query, ""), "\n")
		var a wire.Queues
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatalf("%s: %v\n%s", c.query, err, body)
		}
		var got []string
		for _, q := range a.Queues {
			got = append(got, q.Crawl+"/"+q.Queue)
			own, byDefault := -1.0, 90.0
			switch q.Queue {
			case "b.com":
				own, byDefault = 7, 0
			case "c.org":
				own, byDefault = 0, 0
			}
			if q.DelaySeconds == nil && own >= 0 || q.DelaySeconds != nil && *q.DelaySeconds != own || q.DefaultDelaySeconds != byDefault {
				t.Errorf("%s: got delays %v and %v; want %v (-1 for none of its own) and %v", q.Queue, q.DelaySeconds, q.DefaultDelaySeconds, own, byDefault)
			}
		}
		if strings.Join(got, " ") != c.want || a.Partial {
			t.Errorf("%s: got %q, partial %v; want %s", c.query, got, a.Partial, c.want)
		}
	}
	for _, query := range []string{"order=size", "order=waiting&after=a.com"} {
		if got := s.requestWith(t, bossToken, "GET", "/v1/queues?"+query, ""); !strings.HasPrefix(got, "400") {
			t.Errorf("%s: got %s; want 400", query, got)
		}
	}
}

// TestTopQueues compares the queues that are kept with those of a sorted list.
func TestTopQueues(t *testing.T) {
	for limit := 1; limit <= 5; limit++ {
		top, all := topQueues{limit: limit}, topQueues{limit: 100}
		for i := range 40 {
			q := store.QueueInfo{Name: strconv.Itoa(i), Held: int64(i * 7 % 13), InFlight: int64(i % 2)}
			top.add(q)
			all.add(q)
		}
		name := func(q store.QueueInfo) string { return q.Name }
		got, want := names(top.sorted(), name), names(all.sorted()[:limit], name)
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got %q; want %q", limit, got, want)
		}
	}
}

func names[T any](list []T, name func(T) string) []string {
	var all []string
	for _, v := range list {
		all = append(all, name(v))
	}
	return all
}

package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/queuestate"
)

// TestQueueStates leases, blocks and pauses, and asks why no URL of the queue is handed out.
func TestQueueStates(t *testing.T) {
	s := start(t, canon.Qiita(), Config{Queues: queuestate.Defaults{MaxInFlight: 1}})
	ask := func(query string) queueAnswer {
		t.Helper()
		_, body, _ := strings.Cut(s.request(t, "GET", "/v1/queues?"+query, ""), "\n")
		var a queuesAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Queues) != 1 || !slices.Contains(queuestate.Names, a.Queues[0].State) {
			t.Fatalf("got %s, %v; want one queue in a state", body, err)
		}
		return a.Queues[0]
	}
	s.request(t, "POST", "/v1/urls", "{\"url\":\"http://a.com/1\"}\n{\"url\":\"http://a.com/2\"}\n")
	if got := ask("search=a.c"); got.State != queuestate.Ready || got.Reason != "" {
		t.Errorf("got %+v; want ready", got)
	}
	s.request(t, "POST", "/v1/lease", `{"max":1,"lease_seconds":600}`)
	got := ask("queue=a.com")
	if left := time.Until(got.Next); got.State != queuestate.InFlight || got.Reason == "" || left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("got %+v; want in-flight for the 600 s of its lease", got)
	}
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.request(t, "POST", "/v1/queue", `{"queue":"a.com","blocked_until":"`+until+`"}`)
	if got := ask("queue=a.com"); got.State != queuestate.Blocked || !strings.Contains(got.Reason, until) || got.Next.UTC().Format(time.RFC3339) != until {
		t.Errorf("got %+v; want blocked until %s", got, until)
	}
	if got := s.request(t, "GET", "/v1/queues?queue=none.com", ""); !strings.Contains(got, `{"queues":[]}`) {
		t.Errorf("got %s; want no queue", got)
	}
}

// TestOpenAPIStates asserts that the states that are described are all that there are.
func TestOpenAPIStates(t *testing.T) {
	names, err := json.Marshal(queuestate.Names)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.NewReplacer("\n", "", " ", "").Replace(string(openAPI))
	if !strings.Contains(flat, `"enum":`+string(names)) {
		t.Errorf("want %s as the states of a queue", names)
	}
}

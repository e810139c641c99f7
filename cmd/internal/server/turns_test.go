package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/admit"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// besideAnother has another client work on a server until the test ends.
func (r *running) besideAnother(t *testing.T) {
	t.Helper()
	other := admit.ByToken([32]byte{1})
	n, err := r.admission.work.Begin(t.Context(), other, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.admission.work.End(other, n) })
}

// commits returns how many URLs were added, and in how many commits.
func (r *running) commits(t *testing.T) (urls, commits float64) {
	t.Helper()
	values, err := r.counterValues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values["firstseen_batch_urls_sum"], values["firstseen_batch_urls_count"]
}

// TestWorkInTurns offers many URLs at a time while another client works: they are added a few
// at a time, and each has its answer, in order.
func TestWorkInTurns(t *testing.T) {
	const n = 1000
	for _, other := range []bool{false, true} {
		r := start(t, canon.None(), Config{})
		pieces := 1.0
		if other {
			r.besideAnother(t)
			pieces = n / workShared
		}
		batch := &pb.DiscoveredBatch{ID: "b"}
		var lines, imports strings.Builder
		for i := range n {
			batch.Items = append(batch.Items, &pb.URLInfo{Url: fmt.Sprintf("http://g.example/%d", i%(n-1))})
			fmt.Fprintf(&lines, "{\"id\":\"%d\",\"url\":\"http://h.example/%d\"}\n", i, i%(n-1))
			fmt.Fprintf(&imports, "{\"ID\":\"%d\",\"known\":{\"info\":{\"url\":\"http://i.example/%d\"}}}\n", i, i)
		}
		stream, err := r.client(t).PutDiscovered(t.Context())
		if err == nil {
			err = errors.Join(stream.Send(batch), stream.CloseSend())
		}
		if err != nil {
			t.Fatal(err)
		}
		ack, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range ack.Statuses {
			if want := i < n-1; (got == pb.AckMessage_OK) != want {
				t.Errorf("other client %t, URL %d: got %v; want it new: %t", other, i, got, want)
			}
		}
		if urls, commits := r.commits(t); urls != n || commits < pieces || !other && commits != 1 {
			t.Errorf("other client %t: got %v URLs in %v commits; want %d in %v", other, urls, commits, n, pieces)
		}
		for path, body := range map[string]string{"/v1/urls": lines.String(), "/v1/import": imports.String()} {
			answers := r.sendLines(t, path, strings.NewReader(body))
			for i := range n {
				if want := fmt.Sprint(i); answers[i].ID != want {
					t.Fatalf("other client %t, %s: got an answer to %q; want %q", other, path, answers[i].ID, want)
				}
			}
		}
		if held := r.admission.work.InProgress(); held > 1 {
			t.Errorf("got %d units of work in progress; want those of the other client", held)
		}
	}
}

// TestTurnEndsWithCall has a call wait for its turn until its client leaves.
func TestTurnEndsWithCall(t *testing.T) {
	r := start(t, canon.None(), Config{})
	n, err := r.admission.work.Begin(t.Context(), admit.ByAddress(nil), workAlone)
	if err != nil || n != workAlone {
		t.Fatalf("got %d, %v; want all units", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = inTurns(ctx, r.gate, []int{1}, func(context.Context, []int) ([]int, error) {
		t.Error("got a turn; want none")
		return nil, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v; want that of the context", err)
	}
	r.admission.work.End(admit.ByAddress(nil), n)
}

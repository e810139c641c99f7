package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// register is a register of nodes in memory.
type register struct {
	mu   sync.Mutex
	live map[string]bool
}

func (r *register) Beat(_ context.Context, node string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[node] = true
	var names []string
	for name := range r.live {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (r *register) Leave(_ context.Context, node string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, node)
	return nil
}

// startNodes runs servers on one frontier, each a node of its own, and puts urls.
func startNodes(t *testing.T, names ...string) []*running {
	t.Helper()
	f, _ := openFrontier(t, canon.Qiita(), newClock())
	members := &register{live: make(map[string]bool)}
	var nodes []*running
	for _, name := range names {
		nodes = append(nodes, startNode(t, f, Config{Node: name, Members: members}))
	}
	for _, n := range nodes { // a server beats when it begins to serve, at the latest when asked
		if _, err := n.client(t).ListNodes(t.Context(), &pb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if _, err := f.Add(t.Context(), fmt.Sprintf("http://h%d.example/%d", i%20, i)); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

func startNode(t *testing.T, f *frontier.Frontier, cfg Config) *running {
	t.Helper()
	cfg.GRPCAddr, cfg.HTTPAddr, cfg.Logger = "127.0.0.1:0", "off", slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := New(t.Context(), f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &running{Server: s}
}

func TestSharesOfTheNodesMakeTheWhole(t *testing.T) {
	names := []string{"a:1", "b:1", "c:1"}
	nodes := startNodes(t, names...)
	var local, urls uint64
	var queues []string
	for _, n := range nodes {
		c := n.client(t)
		st, err := c.GetStats(t.Context(), &pb.QueueWithinCrawlParams{Local: true})
		if err != nil {
			t.Fatal(err)
		}
		if st.NumberOfQueues == 0 || st.NumberOfQueues == 20 {
			t.Errorf("%s counts %d queues as local; want a share of 20", n.Node(), st.NumberOfQueues)
		}
		local += st.Size
		isLocal := true
		count, err := c.CountURLs(t.Context(), &pb.CountUrlParams{Local: &isLocal})
		if err != nil {
			t.Fatal(err)
		}
		urls += count.Value
		list, err := c.ListQueues(t.Context(), &pb.Pagination{Local: true})
		if err != nil {
			t.Fatal(err)
		}
		queues = append(queues, list.Values...)
	}
	slices.Sort(queues)
	if local != 40 || urls != 40 || len(queues) != 20 || len(slices.Compact(queues)) != 20 {
		t.Errorf("local counts sum to %d, %d URLs and %d queues; want 40, 40 and 20", local, urls, len(queues))
	}
	if st, err := nodes[0].client(t).GetStats(t.Context(), &pb.QueueWithinCrawlParams{}); err != nil || st.Size != 40 {
		t.Errorf("got %v, %v; want 40 in all, from any node", st, err)
	}
}

func TestNodesAreListedWhileTheyLive(t *testing.T) {
	nodes := startNodes(t, "a:1", "b:1")
	c := nodes[0].client(t)
	list, err := c.ListNodes(t.Context(), &pb.Empty{})
	if err != nil || !slices.Equal(list.Values, []string{"a:1", "b:1"}) {
		t.Errorf("got %v, %v; want both nodes", list, err)
	}
}

func TestAPauseHoldsForAllNodesButALocalOne(t *testing.T) {
	nodes := startNodes(t, "a:1", "b:1")
	a, b := nodes[0].client(t), nodes[1].client(t)
	for _, step := range []struct {
		set          *pb.Active
		a, b, localA bool
	}{
		{&pb.Active{State: false}, false, false, false},
		{&pb.Active{State: true}, true, true, true},
		{&pb.Active{State: false, Local: true}, true, true, false},
	} {
		if _, err := a.SetActive(t.Context(), step.set); err != nil {
			t.Fatal(err)
		}
		got := [3]bool{active(t, a, false), active(t, b, false), active(t, a, true)}
		if got != [3]bool{step.a, step.b, step.localA} {
			t.Errorf("after %v: %v; want %v", step.set, got, [3]bool{step.a, step.b, step.localA})
		}
	}
	for i, want := range []bool{false, true} {
		stream, err := nodes[i].client(t).GetURLs(t.Context(), &pb.GetParams{MaxQueues: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); (err == nil) != want {
			t.Errorf("%s served: %v (%v); want %v", nodes[i].Node(), err == nil, err, want)
		}
	}
}

func active(t *testing.T, c pb.URLFrontierClient, local bool) bool {
	t.Helper()
	b, err := c.GetActive(t.Context(), &pb.Local{Local: local})
	if err != nil {
		t.Fatal(err)
	}
	return b.State
}

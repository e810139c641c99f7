// Command balance simulates how evenly a crawl loads the shards and nodes of a cluster. It uses the
// sizes of hosts in a real crawl, and Zipf's law at sizes that fit on no machine here.
//
//	go run ./cmd/internal/tools/balance
//
// Hosts are very unequal: in the real crawl one of 1,220 hosts has 30 % of the URLs. If all keys of
// a host are in one shard, that shard and its node are much fuller than the others, whatever
// the number of nodes. The table shows the largest shard and node as a multiple of the mean (1.00
// is perfect), for three placements of the seen keys. Each queue is in one shard, so queues are
// always placed by host. The last column is the load of all offered URLs, repeats included, if they
// were also placed by host.
//
// The same seed gives the same table; seeds are averaged.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
)

//go:embed testdata/docs-hosts.txt
var docsHosts []byte

func main() {
	seeds := flag.Uint64("seeds", 10, "number of random placements to average")
	flag.Parse()
	if err := run(os.Stdout, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "balance:", err)
		os.Exit(3)
	}
}

// scenario is a web on a fleet.
type scenario struct {
	web   *web
	fleet fleet
}

// scenarios are those of redisstore/FORMAT.md and docs/REDIS.md. Offers are ten for each URL kept, as measured in
// large crawls (89.6 % of links found are repeats).
func scenarios() ([]scenario, error) {
	docs, err := readHosts(bytes.NewReader(docsHosts), "measured crawl (1,220 hosts), scaled to 100 M", 1e8)
	if err != nil {
		return nil, err
	}
	const perURL = 10
	ten := zipf("10 billion on 30 M hosts, Zipf 1.05", 1e10, 30e6, 1.05, 0, perURL)
	tenCap := zipf("the same, at most 10 M a host", 1e10, 30e6, 1.05, 1e7, perURL)
	trillion := zipf("1 trillion on 1 G hosts, Zipf 1.05", 1e12, 1e9, 1.05, 0, perURL)
	trillionCap := zipf("the same, at most 10 M a host", 1e12, 1e9, 1.05, 1e7, perURL)
	return []scenario{
		{docs, fleet{256, 3}}, {docs, fleet{1024, 3}}, {docs, fleet{1024, 12}},
		{ten, fleet{1024, 24}}, {tenCap, fleet{1024, 24}}, {tenCap, fleet{4096, 24}},
		{trillion, fleet{8192, 1000}}, {trillionCap, fleet{8192, 1000}},
	}, nil
}

func run(w io.Writer, seeds uint64) error {
	all, err := scenarios()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| web | top host | shards on nodes | keys by host: shard, node | hot hosts spread: shard, node | by key: shard, node | offers by host: shard, node |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range all {
		fmt.Fprintf(w, "| %s | %.1f %% | %d on %d |", s.web.name, 100*s.web.head[0].kept/s.web.kept(), s.fleet.shards, s.fleet.nodes)
		for _, p := range []placement{byHost, spread, byKey} {
			shard, node := s.average(seeds, func(seed uint64) loads { return s.fleet.keep(s.web, p, seed) })
			fmt.Fprintf(w, " %.2f, %.2f |", shard, node)
		}
		shard, node := s.average(seeds, func(seed uint64) loads { return s.fleet.answer(s.web, seed) })
		if _, err := fmt.Fprintf(w, " %.2f, %.2f |\n", shard, node); err != nil {
			return err
		}
	}
	return nil
}

// average returns the worst shard and node, averaged over seeds.
func (s scenario) average(seeds uint64, place func(seed uint64) loads) (shard, node float64) {
	for seed := range seeds {
		shards := place(mix(seed))
		shard += shards.worst()
		node += s.fleet.onNodes(shards).worst()
	}
	return shard / float64(seeds), node / float64(seeds)
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/rediscluster"
)

// forgetCommands resets the statistics of the servers.
func forgetCommands(ctx context.Context, c *rediscluster.Cluster) error {
	for _, n := range c.Nodes {
		if _, err := n.Do(ctx, "CONFIG", "RESETSTAT"); err != nil {
			return err
		}
	}
	return nil
}

// command is what calls of a command came to, those from scripts included: so what a
// script's commands took is in the script's time, too.
type command struct {
	name        string
	calls, usec int64
}

// showCommands prints what the masters' commands took for each URL.
func showCommands(ctx context.Context, c *rediscluster.Cluster, urls int64) error {
	sums := map[string]*command{}
	for _, n := range c.Nodes[:3] {
		info, err := n.Info(ctx, "commandstats")
		if err != nil {
			return err
		}
		for name, v := range info {
			var calls, usec int64
			if _, err := fmt.Sscanf(v, "calls=%d,usec=%d,", &calls, &usec); err != nil {
				continue
			}
			name = strings.TrimPrefix(name, "cmdstat_")
			if sums[name] == nil {
				sums[name] = &command{name: name}
			}
			sums[name].calls += calls
			sums[name].usec += usec
		}
	}
	var list []*command
	for _, s := range sums {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *command) int { return cmp.Compare(b.usec, a.usec) })
	for _, s := range list {
		fmt.Printf("  %-18s %8.4f calls/URL  %8.3f µs/URL  %8.2f µs each\n",
			s.name, float64(s.calls)/float64(urls), float64(s.usec)/float64(urls), float64(s.usec)/float64(s.calls))
	}
	return nil
}

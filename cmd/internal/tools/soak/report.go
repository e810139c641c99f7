//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"
)

// report writes the report, and reports whether all checks passed.
func (f *findings) report(out io.Writer, w *world, took time.Duration) bool {
	all := true
	p := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	p("# Soak of %v, seed %d\n", w.o.length, w.o.seed)
	p("%d fetchers, %d feeders, %d hosts, %d pages; %s, %d processors; %v in all.\n", w.o.fetchers, w.o.feeders, hosts, pages, runtime.Version(), runtime.NumCPU(), took.Round(time.Second))
	p("| what went wrong | times |\n|---|---:|")
	for _, kind := range slices.Sorted(maps.Keys(w.events)) {
		p("| %s | %d |", kind, w.events[kind])
	}
	if !w.mounted {
		p("\nThe disk was not filled: mounting one takes a right that is missing here.")
	}
	p("\n| what was done | |\n|---|---:|")
	p("| offers answered | %d |\n| pages told new | %d |\n| leases handed out | %d |\n| settlements answered | %d |", f.offers, f.news, f.fetches, f.settled)
	p("| most memory of the daemon, MiB | %.0f |", w.watch.most("process_resident_memory_bytes")/(1<<20))
	p("\n| what must hold | | |\n|---|---|---|")
	hold := func(name string, ok bool, detail string) {
		verdict := "holds"
		if !ok {
			verdict, all = "**BROKEN**", false
		}
		p("| %s | %s | %s |", name, verdict, detail)
	}
	hold("no page told new twice", len(f.twiceNew) == 0, some(f.twiceNew))
	hold("the frontier could be emptied", f.drained, "")
	hold("every new page was leased and settled", len(f.lost) == 0 && f.news > 0, some(f.lost))
	hold("every acknowledged page is still known", f.forgotten == 0, fmt.Sprint(f.forgotten))
	hold("no page leased twice at a time", len(f.twiceLeased) == 0 && f.fetches > 0, some(f.twiceLeased))
	hold("no host served before its delay", len(f.impolite) == 0, some(f.impolite))
	for _, g := range f.grown {
		hold("does not grow in calm", g.ok, g.String())
	}
	return all
}

// some formats the length of a list and its first few elements.
func some[T any](list []T) string {
	if len(list) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %v", len(list), list[:min(len(list), 5)])
}

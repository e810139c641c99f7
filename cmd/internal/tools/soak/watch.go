//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/async"
)

// gauges must not grow by more than this without faults. They may grow a little, because the rows of
// a finite web still enter the cache of the store.
var gauges = []struct {
	name  string
	slack float64
}{
	{"go_memstats_heap_inuse_bytes", 32 << 20},
	{"process_resident_memory_bytes", 48 << 20},
	{"go_goroutines", 20},
	{"process_open_fds", 20},
}

// watch samples the daemon's gauges.
type watch struct {
	mu      sync.Mutex
	samples []map[string]float64
	from    int // of the samples, where it is calm
}

func (w *watch) run(ctx context.Context, a *api) {
	for ctx.Err() == nil {
		text, err := a.send(ctx, "GET", "/metrics", nil)
		if err == nil {
			w.mu.Lock()
			w.samples = append(w.samples, parseMetrics(text))
			w.mu.Unlock()
		}
		_ = async.Sleep(ctx, 2*time.Second)
	}
}

func (w *watch) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from = len(w.samples)
}

func parseMetrics(text []byte) map[string]float64 {
	values := map[string]float64{}
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		name, value, ok := strings.Cut(scan.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			values[name] = v
		}
	}
	return values
}

// growth is a gauge in the second quarter and in the last quarter of the calm, as medians.
type growth struct {
	name          string
	before, after float64
	ok            bool
}

func (w *watch) grown() (all []growth) {
	w.mu.Lock()
	defer w.mu.Unlock()
	calm := w.samples[min(w.from, len(w.samples)):]
	quarter := len(calm) / 4
	for _, g := range gauges {
		before, after := median(calm[quarter:2*quarter], g.name), median(calm[3*quarter:], g.name)
		all = append(all, growth{g.name, before, after, quarter > 0 && after <= 1.1*before+g.slack})
	}
	return all
}

func median(samples []map[string]float64, name string) float64 {
	if len(samples) == 0 {
		return 0
	}
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s[name]
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// most returns the largest sample of a gauge over the whole run.
func (w *watch) most(name string) (most float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.samples {
		most = max(most, s[name])
	}
	return most
}

func (g growth) String() string {
	return fmt.Sprintf("%s %.0f, then %.0f", g.name, g.before, g.after)
}

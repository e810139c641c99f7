//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// run is the command. With "attack" it is the process of an attacker, which it starts of
// itself.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "attack" {
		return attackMain(ctx, args[1:])
	}
	var b bench
	var names string
	fs := flag.NewFlagSet("hostile", flag.ContinueOnError)
	fs.StringVar(&b.binary, "binary", "bin/firstseen", "the daemon")
	fs.DurationVar(&b.length, "length", time.Minute, "length of each attack in all")
	fs.DurationVar(&b.alone, "alone", 0, "length of the client alone in all; default: that of an attack")
	fs.IntVar(&b.rounds, "rounds", 6, "turns: how often the client is alone and then attacked")
	fs.StringVar(&names, "attacks", "", "names of attacks; default: all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if b.rounds < 1 || b.length <= 0 || b.alone < 0 {
		return errors.New("cannot measure; want --rounds and --length above 0")
	}
	b.alone = cmp.Or(b.alone, b.length)
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	clients, cpus, err := measured.Split()
	if err == nil {
		b.cpus, err = cpus, clients.Pin()
	}
	if err != nil {
		return err
	}
	fmt.Printf("%v of each attack in %d turns, and %v without it in as many; daemon on processors %v, client and attackers on %v; p99: median of the turns (lowest to highest); aims: ratio at most 3, no failed call, below 400 MB\n\n",
		b.length, b.rounds, b.alone, cpus, clients)
	fmt.Println("| attack | connections, MB sent | adds p99 alone, ms | attacked | ratio | leases p99 alone, ms | attacked | ratio | new connections p99 alone, ms | attacked | ratio | calls, timed | failed | CPU alone, % | attacked | peak MB |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	var errs []error
	for i := range chosen {
		if err := b.measure(ctx, &chosen[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", chosen[i].name, err))
			fmt.Printf("| %s | %v |\n", chosen[i].name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// choose returns the attacks with these names, all of them for none.
func choose(names string) (chosen []attack, err error) {
	if names == "" {
		return attacks, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		a := attackOf(name)
		if a == nil {
			return nil, fmt.Errorf("cannot attack; got %q; want one of %s", name, attackNames())
		}
		chosen = append(chosen, *a)
	}
	return chosen, nil
}

// bench is how attacks are measured.
type bench struct {
	binary string
	length time.Duration // of each attack
	alone  time.Duration // of the client without it
	rounds int
	cpus   measured.CPUs // of the daemon
}

// row is what one attack did.
type row struct {
	alone, under       []*result // one per turn
	aloneCPU, underCPU load      // of the daemon
	sent               sent
	peak               int
}

// load is processor time and the time in which it was used.
type load struct{ cpu, in time.Duration }

func (l load) percent() float64 { return 100 * l.cpu.Seconds() / max(l.in.Seconds(), 1e-9) }

// measure runs one attack and prints its row.
func (b *bench) measure(ctx context.Context, a *attack) (err error) {
	d, err := startDaemon(ctx, b.binary, b.cpus)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	if err := d.fill(ctx); err != nil {
		return fmt.Errorf("cannot fill: %w", err)
	}
	c, err := newClient(d)
	if err != nil {
		return err
	}
	defer c.close()
	c.run(ctx, time.Second) // connections are made, code is warm
	d.Rest(ctx)
	var r row
	for range b.rounds {
		if err := b.round(ctx, a, d, c, &r); err != nil {
			return err
		}
	}
	r.print(a.name)
	return nil
}

// round measures the client alone, and then attacked.
func (b *bench) round(ctx context.Context, a *attack, d *daemon, c *client, r *row) error {
	turns := time.Duration(b.rounds)
	alone := d.load(&r.aloneCPU, func() *result { return c.run(ctx, b.alone/turns) })
	r.alone = append(r.alone, alone)
	if alone.failed > 0 {
		return fmt.Errorf("%d calls failed without an attack: %w", alone.failed, alone.err)
	}
	d.ResetPeak()
	attackers, err := startAttack(ctx, a, d)
	if err != nil {
		return err
	}
	r.under = append(r.under, d.load(&r.underCPU, func() *result { return c.run(ctx, b.length/turns) }))
	r.peak = max(r.peak, d.PeakMB())
	sent, err := attackers.stop()
	r.sent.connections += sent.connections
	r.sent.bytes += sent.bytes
	d.Rest(ctx)
	return err
}

// load runs something and adds the load of the daemon during it to a sum.
func (d *daemon) load(sum *load, run func() *result) *result {
	before, began := d.CPU(), time.Now()
	r := run()
	sum.cpu += d.CPU() - before
	sum.in += time.Since(began)
	return r
}

func (r *row) print(name string) {
	row := []any{name, r.sent.connections, r.sent.bytes >> 20}
	for _, times := range []func(*result) []time.Duration{
		func(r *result) []time.Duration { return r.adds },
		func(r *result) []time.Duration { return r.leases },
		func(r *result) []time.Duration { return r.fresh },
	} {
		alone, under := p99s(r.alone, times), p99s(r.under, times)
		row = append(row, alone, under, ratio(under, alone))
	}
	calls, timed, failed, err := 0, 0, 0, error(nil)
	for _, r := range r.under {
		calls += r.calls
		timed += len(r.adds) + len(r.leases) + len(r.fresh)
		failed += r.failed
		err = cmp.Or(err, r.err)
	}
	row = append(row, calls, timed, failed, r.aloneCPU.percent(), r.underCPU.percent(), r.peak)
	fmt.Printf("| %s | %d, %d | %v | %v | %s | %v | %v | %s | %v | %v | %s | %d, %d | %d | %.0f | %.0f | %d |\n", row...)
	if failed > 0 {
		fmt.Fprintf(os.Stderr, "%s: the first call that failed: %v\n", name, err)
	}
}

// spread has a time for each turn, the shortest first. The times of single turns differ with
// what else the machine does; the median does less.
type spread []time.Duration

// minTimed is how many calls a turn must have timed to count.
const minTimed = 10

// p99s returns the 99th percentile of some calls in each turn.
func p99s(turns []*result, calls func(*result) []time.Duration) (s spread) {
	for _, r := range turns {
		if times := calls(r); len(times) >= minTimed {
			s = append(s, p99(times))
		}
	}
	slices.Sort(s)
	return s
}

// median returns the lower of two medians, 0 for no turns.
func (s spread) median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[(len(s)-1)/2]
}

// ratio returns how many times as long the calls of some turns took.
func ratio(under, alone spread) string {
	if len(under) == 0 || len(alone) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(under.median())/float64(alone.median()))
}

// String implements fmt.Stringer.
func (s spread) String() string {
	if len(s) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%s (%s–%s)", ms(s.median()), ms(s[0]), ms(s[len(s)-1]))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
	fs.DurationVar(&b.length, "length", time.Minute, "length of each attack in all, and of the client alone")
	fs.IntVar(&b.rounds, "rounds", 2, "how often the client is alone and then attacked")
	fs.StringVar(&names, "attacks", "", "names of attacks; default: all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if b.rounds < 1 || b.length <= 0 {
		return errors.New("cannot measure; want --rounds and --length above 0")
	}
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
	fmt.Printf("%v of each attack in %d rounds, after as long without it; daemon on processors %v, client and attackers on %v; aims: ratio at most 3, no failed call, below 400 MB\n\n",
		b.length, b.rounds, cpus, clients)
	fmt.Println("| attack | connections, MB sent | adds p99 alone, ms | attacked | ratio | leases p99 alone, ms | attacked | ratio | new connections p99 alone, ms | attacked | ratio | calls | failed | CPU alone, % | attacked | peak MB |")
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
	length time.Duration
	rounds int
	cpus   measured.CPUs // of the daemon
}

// row is what one attack did.
type row struct {
	alone, under       result
	aloneCPU, underCPU load // of the daemon
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
	each := b.length / time.Duration(b.rounds)
	run := func(sum *result, cpu *load) {
		before, began := d.CPU(), time.Now()
		sum.add(c.run(ctx, each))
		cpu.cpu += d.CPU() - before
		cpu.in += time.Since(began)
	}
	run(&r.alone, &r.aloneCPU)
	if r.alone.failed > 0 {
		return fmt.Errorf("%d calls failed without an attack: %w", r.alone.failed, r.alone.err)
	}
	d.ResetPeak()
	attackers, err := startAttack(ctx, a, d)
	if err != nil {
		return err
	}
	run(&r.under, &r.underCPU)
	r.peak = max(r.peak, d.PeakMB())
	sent, err := attackers.stop()
	r.sent.connections += sent.connections
	r.sent.bytes += sent.bytes
	time.Sleep(settle) // the daemon ends what the attack left
	return err
}

func (r *row) print(name string) {
	row := []any{name, r.sent.connections, r.sent.bytes >> 20}
	for _, times := range [][2][]time.Duration{{r.alone.adds, r.under.adds}, {r.alone.leases, r.under.leases}, {r.alone.fresh, r.under.fresh}} {
		alone, under := p99(times[0]), p99(times[1])
		row = append(row, ms(alone), ms(under), float64(under)/float64(max(alone, 1)))
	}
	row = append(row, len(r.under.adds)+len(r.under.leases)+len(r.under.fresh), r.under.failed, r.aloneCPU.percent(), r.underCPU.percent(), r.peak)
	fmt.Printf("| %s | %d, %d | %s | %s | %.1f | %s | %s | %.1f | %s | %s | %.1f | %d | %d | %.0f | %.0f | %d |\n", row...)
	if r.under.failed > 0 {
		fmt.Fprintf(os.Stderr, "%s: the first call that failed: %v\n", name, r.under.err)
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

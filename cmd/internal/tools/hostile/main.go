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
	var binary, names string
	var length time.Duration
	fs := flag.NewFlagSet("hostile", flag.ContinueOnError)
	fs.StringVar(&binary, "binary", "bin/firstseen", "the daemon")
	fs.DurationVar(&length, "length", time.Minute, "length of each attack; the client is alone for half as long before")
	fs.StringVar(&names, "attacks", "", "names of attacks; default: all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	chosen := attacks
	if names != "" {
		chosen = nil
		for name := range strings.SplitSeq(names, ",") {
			a := attackOf(name)
			if a == nil {
				return fmt.Errorf("cannot attack; got %q; want one of %s", name, attackNames())
			}
			chosen = append(chosen, *a)
		}
	}
	fmt.Printf("%v of each attack, on this machine; aims: ratio at most 3, no failed call, below 400 MB\n\n", length)
	fmt.Println("| attack | connections, MB sent | adds p99 alone, ms | attacked | ratio | leases p99 alone, ms | attacked | ratio | calls | failed | peak MB |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	var errs []error
	for i := range chosen {
		if err := measure(ctx, binary, &chosen[i], length); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", chosen[i].name, err))
			fmt.Printf("| %s | %v |\n", chosen[i].name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// measure runs one attack and prints its row.
func measure(ctx context.Context, binary string, a *attack, length time.Duration) (err error) {
	d, err := startDaemon(ctx, binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.fill(ctx); err != nil {
		return fmt.Errorf("cannot fill: %w", err)
	}
	c, err := newClient(d)
	if err != nil {
		return err
	}
	defer c.close()
	c.run(ctx, time.Second) // connections are made, code is warm
	alone := c.run(ctx, length/2)
	if alone.failed > 0 {
		return fmt.Errorf("%d calls failed without an attack: %w", alone.failed, alone.err)
	}
	d.resetPeak()
	attackers, err := startAttack(ctx, a, d)
	if err != nil {
		return err
	}
	under := c.run(ctx, length)
	peak := d.peakMB()
	sent, err := attackers.stop()
	fmt.Printf("| %s | %d, %d | %s | %s | %.1f | %s | %s | %.1f | %d | %d | %d |\n", a.name, sent.connections, sent.bytes>>20,
		ms(alone.adds), ms(under.adds), ratio(alone.adds, under.adds), ms(alone.leases), ms(under.leases), ratio(alone.leases, under.leases),
		under.calls, under.failed, peak)
	if under.failed > 0 {
		fmt.Fprintf(os.Stderr, "%s: the first call that failed: %v\n", a.name, under.err)
	}
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

func ratio(alone, under time.Duration) float64 { return float64(under) / float64(max(alone, 1)) }

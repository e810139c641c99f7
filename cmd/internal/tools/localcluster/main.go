// Command localcluster runs a Redis Cluster on this machine for as long as a command
// runs, to try things on: real redis-server processes on loopback, in a temporary
// directory, gone afterwards. The command finds the nodes' addresses in
// $FIRSTSEEN_REDIS, which is also where firstseen looks for --redis.
//
//	go run ./cmd/internal/tools/localcluster firstseen serve
//
// Without a command the addresses are printed and the cluster runs until a signal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/firstseen/firstseen/internal/rediscluster"
)

// statusUnavailable is the exit status where this machine cannot run servers.
const statusUnavailable = 75

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
	}
	os.Exit(status)
}

func run(ctx context.Context) (status int, err error) {
	opt := rediscluster.Options{}
	flag.IntVar(&opt.Masters, "masters", 3, "number of masters; 0 for one server that is no cluster")
	flag.IntVar(&opt.ReplicasEach, "replicas", 1, "replicas of each master")
	flag.StringVar(&opt.Password, "password", "", "password to ask for")
	flag.Parse()
	c, err := rediscluster.Start(ctx, opt)
	if errors.Is(err, rediscluster.ErrUnavailable) {
		return statusUnavailable, err
	}
	if err != nil {
		return 3, err
	}
	addrs := strings.Join(c.Addrs(), ",")
	if flag.NArg() == 0 {
		fmt.Println(addrs)
		<-ctx.Done()
		return 0, c.Close()
	}
	cmd := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "FIRSTSEEN_REDIS="+addrs)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return max(ended.ExitCode(), 1), c.Close() // the command said why itself
	}
	if err != nil {
		return 3, errors.Join(err, c.Close())
	}
	return 0, c.Close()
}

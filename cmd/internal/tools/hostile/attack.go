//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
	"github.com/firstseen/firstseen/internal/async"
)

// attack is a way to attack a daemon.
type attack struct {
	name string
	// procs is how many processes attack, each with an equal part of conns.
	procs, conns int
	// many is whether each connection has an address of its own.
	many bool
	// one attacks over connection i, until it has no more to do or the connection ends.
	// Then it is called again.
	one func(a *attacker, i int) error
}

var attacks = []attack{
	{"stalled pages, no token", 1, 1100, false, stalledPages},
	{"stalled answers of every route", 1, 400, false, stalledAnswers},
	{"unread leases of 60 kB", 1, 64, false, unreadLeases},
	{"half-sent messages, no token", 1, 200, false, halfSentByStranger},
	{"half-sent messages", 1, 200, false, halfSent},
	{"half-sent bodies", 1, 200, false, halfSentBodies},
	{"unread acknowledgements", 1, 100, false, unreadAcks},
	{"rapid resets, no token", 1, 16, false, resetsByStranger},
	{"rapid resets", 1, 16, false, resets},
	{"20,000 connections, no token", 4, 20_000, true, idleConnection}, // back 5 s after they end
	{"health watches", 1, 200, true, healthWatches},
	{"message flood, no token", 1, 32, true, floodByStranger},
	{"message flood", 1, 16, false, flood},
	{"floods of empty items", 1, 16, false, floodEmpty},
	{"floods of empty IDs", 1, 16, false, floodIDs},
	{"floods of crawls", 1, 4, false, floodCrawls},
	{"probes, no token", 1, 8, true, probes},
}

func attackOf(name string) *attack {
	for i := range attacks {
		if attacks[i].name == name || strings.ReplaceAll(strings.ReplaceAll(attacks[i].name, ",", ""), " ", "-") == name {
			return &attacks[i]
		}
	}
	return nil
}

func attackNames() string {
	var names []string
	for _, a := range attacks {
		names = append(names, strings.ReplaceAll(strings.ReplaceAll(a.name, ",", ""), " ", "-"))
	}
	return strings.Join(names, ", ")
}

// attackers are the processes of an attack.
type attackers struct {
	cmds []*exec.Cmd
	outs []*bytes.Buffer
}

// sent is what attackers did.
type sent struct {
	connections, bytes int64
}

// settle is how long an attack has before it is measured.
const settle = 2 * time.Second

func startAttack(ctx context.Context, a *attack, d *daemon) (*attackers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all attackers
	for part := range a.procs {
		cmd := exec.CommandContext(ctx, self, "attack", "--name", a.name, "--grpc", d.grpc, "--http", d.http_, "--part", fmt.Sprint(part))
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			_, stopErr := all.stop()
			return nil, errors.Join(err, stopErr)
		}
		all.cmds, all.outs = append(all.cmds, cmd), append(all.outs, out)
	}
	time.Sleep(settle)
	return &all, nil
}

// stop ends the attack and returns its counts.
func (all *attackers) stop() (sum sent, err error) {
	for _, cmd := range all.cmds {
		err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM))
	}
	for i, cmd := range all.cmds {
		err = errors.Join(err, cmd.Wait())
		var s struct{ Connections, Bytes int64 }
		err = errors.Join(err, json.Unmarshal(all.outs[i].Bytes(), &s))
		sum.connections += s.Connections
		sum.bytes += s.Bytes
	}
	return sum, err
}

// attacker is a process that attacks.
type attacker struct {
	*attack
	ctx                context.Context
	grpc, http_        string
	connections, bytes atomic.Int64
}

func attackMain(ctx context.Context, args []string) error {
	var a attacker
	var name string
	var part int
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	fs.StringVar(&name, "name", "", "of the attack")
	fs.StringVar(&a.grpc, "grpc", "", "address of the daemon")
	fs.StringVar(&a.http_, "http", "", "likewise")
	fs.IntVar(&part, "part", 0, "number of the process")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if a.attack = attackOf(name); a.attack == nil {
		return fmt.Errorf("cannot attack; got %q", name)
	}
	if err := measured.YieldToParent(); err != nil {
		return err
	}
	a.ctx = ctx
	var wg sync.WaitGroup
	each := a.conns / a.procs
	for i := range each {
		wg.Go(func() { a.again(part*each + i) })
	}
	wg.Wait()
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{"connections": a.connections.Load(), "bytes": a.bytes.Load()})
}

// again attacks over connection i again and again.
func (a *attacker) again(i int) {
	for a.ctx.Err() == nil {
		_ = a.one(a, i) // the daemon may end the connection as it likes
		_ = async.Sleep(a.ctx, time.Second)
	}
}

// dial connects with small receive buffers in the kernel, so that unread bytes stay at the
// daemon.
func (a *attacker) dial(addr string, i int) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		}), err)
	}}
	if a.many {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, byte(1+i>>16), byte(i>>8), byte(1+i%250))}
	}
	conn, err := d.DialContext(a.ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	a.connections.Add(1)
	context.AfterFunc(a.ctx, func() { _ = conn.Close() }) // ends what waits
	return counted{conn, a}, nil
}

// counted counts the bytes it sends.
type counted struct {
	net.Conn
	a *attacker
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.a.bytes.Add(int64(n))
	return n, err
}

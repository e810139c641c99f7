package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Options select the servers to start. The zero value starts one server without a cluster.
type Options struct {
	// Dir is where the nodes keep their files, each in a directory of its own.
	// The default is a temporary directory that Close removes.
	Dir string
	// Masters is the number of masters of a cluster. The default is 0, which
	// means one server that isn't in cluster mode.
	Masters int
	// ReplicasEach is the number of replicas of each master. The default is 0.
	ReplicasEach int
	// NodeTimeout is how long a node may be silent before the others take it for
	// dead. The default is 1 s.
	NodeTimeout time.Duration
	// Password is asked of clients and nodes. The default is none.
	Password string
	// Partitions puts a network between the nodes that Isolate can cut. The
	// default is that they speak to each other directly.
	Partitions bool
	// Config are further lines of configuration, later ones win. The default
	// is an append-only file synced every second, no snapshots, and min-replicas-to-write 1
	// where there are replicas.
	Config []string
}

// Cluster is a set of servers: of n masters with r replicas each, Nodes[:n] are
// the masters at the start, and the replicas of master i begin at Nodes[n+i*r].
type Cluster struct {
	Nodes []*Node

	opt       Options
	net       *network // nil without Options.Partitions
	dir       string
	temporary bool
	holds     []io.Closer // of the nodes' ports
}

// ErrUnavailable is returned by Start where there is no redis-server to run, or one
// older than 7.0.
var ErrUnavailable = errors.New("no redis-server here of version 7.0 or later")

var serverVersion = regexp.MustCompile(`\bv=(\d+)\.`)

// available reports whether a redis-server can run here.
func available(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	v := serverVersion.FindSubmatch(out)
	if err != nil || v == nil || !supported {
		return false
	}
	major, err := strconv.Atoi(string(v[1]))
	return err == nil && major >= 7
}

// Start starts servers and waits until they serve: in a cluster, until every
// node knows every other, all slots are owned and all replicas are in sync.
func Start(ctx context.Context, opt Options) (*Cluster, error) {
	if !available(ctx) {
		return nil, fmt.Errorf("cannot start redis: %w", ErrUnavailable)
	}
	if opt.NodeTimeout == 0 {
		opt.NodeTimeout = time.Second
	}
	c := &Cluster{opt: opt, dir: opt.Dir}
	if opt.Partitions {
		c.net = newNetwork()
	}
	if c.dir == "" {
		var err error
		if c.dir, err = os.MkdirTemp("", "rediscluster-"); err != nil {
			return nil, fmt.Errorf("cannot start redis: %w", err)
		}
		c.temporary = true
	}
	err := c.startNodes(ctx, max(1, opt.Masters*(1+opt.ReplicasEach)))
	if err == nil && opt.Masters > 0 {
		err = c.form(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close kills the servers, and removes a temporary directory.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.Nodes {
		errs = append(errs, n.Kill())
	}
	if c.net != nil {
		errs = append(errs, c.net.close())
	}
	for _, h := range c.holds {
		errs = append(errs, h.Close())
	}
	c.holds = nil
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

// startNodes starts count servers at once.
func (c *Cluster) startNodes(ctx context.Context, count int) error {
	c.Nodes = make([]*Node, count)
	errs := make([]error, count)
	var wg sync.WaitGroup
	from := 12000 + rand.IntN(18000) // so that clusters of other processes are seldom met
	for i := range c.Nodes {
		n, next, err := c.newNode(i, from)
		if err != nil {
			return errors.Join(fmt.Errorf("cannot prepare a node: %w", err), wgWait(&wg))
		}
		c.Nodes[i], from = n, next
		wg.Go(func() { errs[i] = n.start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func wgWait(wg *sync.WaitGroup) error {
	wg.Wait()
	return nil
}

// newNode writes the configuration of node i, with ports from that given on.
func (c *Cluster) newNode(i, from int) (n *Node, next int, err error) {
	port, err := c.port(from)
	if err != nil {
		return nil, 0, err
	}
	bus, err := c.port(port + 1)
	if err != nil {
		return nil, 0, err
	}
	n = &Node{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: filepath.Join(c.dir, strconv.Itoa(i)), password: c.opt.Password}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return nil, 0, err
	}
	lines := c.conf(n.dir, port, bus)
	n.bus = bus
	if c.net != nil {
		door, err := c.net.door(i, bus)
		if err != nil {
			return nil, 0, err
		}
		n.bus = door
		lines = append(lines, "cluster-announce-ip 127.0.0.1", "cluster-announce-bus-port "+strconv.Itoa(door), "bind-source-addr "+source(i), "protected-mode no")
	}
	return n, bus + 1, writeConf(n.dir, lines)
}

// port finds a free port, and holds it until Close.
func (c *Cluster) port(from int) (int, error) {
	port, hold, err := freePort(from)
	if hold != nil {
		c.holds = append(c.holds, hold)
	}
	return port, err
}

func (c *Cluster) conf(dir string, port, bus int) []string {
	lines := []string{
		"bind 127.0.0.1", "port " + strconv.Itoa(port), "dir " + dir, "logfile redis.log",
		`save ""`, "appendonly yes", "appendfsync everysec", "enable-debug-command local",
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0",
		"repl-ping-replica-period 1", "repl-timeout 10", // a ping each 10 s, the default, would come as late as the timeout
	}
	if c.opt.Password != "" {
		lines = append(lines, "requirepass "+c.opt.Password, "masterauth "+c.opt.Password)
	}
	if c.opt.Masters > 0 {
		lines = append(lines, "cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-port "+strconv.Itoa(bus),
			"cluster-node-timeout "+strconv.FormatInt(c.opt.NodeTimeout.Milliseconds(), 10),
			"cluster-require-full-coverage no",
			// A replaced master must be allowed to follow a node with further slots than its own, or that node
			// stays without a replica. The barrier keeps replicas from going to other masters.
			"cluster-allow-replica-migration yes", "cluster-migration-barrier 1000")
	}
	if c.opt.ReplicasEach > 0 {
		lines = append(lines, "min-replicas-to-write 1")
	}
	return append(lines, c.opt.Config...)
}

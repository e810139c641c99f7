package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/freeport"
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
	// TLS are PEM files: the certificate of an authority, and one of it for the servers, with its key. With these, servers serve clients at
	// Node.TLSAddr as well, and speak TLS to each other. The default is none.
	TLS struct{ CA, Cert, Key string }
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
	release   func() // frees the addresses of the nodes
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
	c := &Cluster{opt: opt, dir: opt.Dir, release: func() {}}
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
	err := c.Add(ctx, max(1, opt.Masters*(1+opt.ReplicasEach)))
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
	c.release()
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

// Add starts further nodes at once, and appends them to Nodes. They have lines of configuration of their own, which win over
// those of the others, and are not yet in the cluster.
func (c *Cluster) Add(ctx context.Context, count int, config ...string) error {
	addrs, release, err := freeport.Take(ctx, 3*count)
	if err != nil {
		return err
	}
	before := c.release
	c.release = func() { before(); release() }
	errs := make([]error, count)
	var wg sync.WaitGroup
	for i := range count {
		n, err := c.newNode(len(c.Nodes), addrs[3*i], addrs[3*i+1], addrs[3*i+2], config)
		if err != nil {
			return errors.Join(fmt.Errorf("cannot prepare a node: %w", err), wgWait(&wg))
		}
		c.Nodes = append(c.Nodes, n)
		wg.Go(func() { errs[i] = n.start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func wgWait(wg *sync.WaitGroup) error {
	wg.Wait()
	return nil
}

// newNode writes the configuration of node i: addr is for its clients, secure for those with TLS, bus for the other nodes.
func (c *Cluster) newNode(i int, addr, bus, secure string, config []string) (*Node, error) {
	n := &Node{Addr: addr, dir: filepath.Join(c.dir, strconv.Itoa(i)), password: c.opt.Password}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if n.bus, err = portOf(bus); err != nil {
		return nil, err
	}
	port, err := portOf(addr)
	if err != nil {
		return nil, err
	}
	lines := c.conf(n.dir, port, n.bus)
	if tls := c.opt.TLS; tls.Cert != "" {
		port, err := portOf(secure)
		if err != nil {
			return nil, err
		}
		n.TLSAddr = secure
		lines = append(lines, "tls-port "+strconv.Itoa(port), "tls-ca-cert-file "+tls.CA, "tls-cert-file "+tls.Cert, "tls-key-file "+tls.Key,
			"tls-auth-clients no", "tls-cluster yes", "tls-replication yes")
	}
	if c.net != nil {
		if n.bus, err = c.net.door(i, n.bus); err != nil {
			return nil, err
		}
		lines = append(lines, "cluster-announce-ip 127.0.0.1", "cluster-announce-bus-port "+strconv.Itoa(n.bus), "bind-source-addr "+source(i), "protected-mode no")
	}
	return n, writeConf(n.dir, append(lines, config...))
}

func portOf(addr string) (int, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
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

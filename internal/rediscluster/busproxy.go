package rediscluster

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// network stands between the nodes: each speaks to the others' cluster bus through a
// door of the network, and from an address of its own, so that the network knows
// who speaks to whom and can cut one node off from the others.
type network struct {
	mu    sync.Mutex
	doors []net.Listener
	cut   map[int]bool
	links map[*link]struct{}
}

// link is a connection from one node to another through the network.
type link struct {
	from, to  int
	in, out   net.Conn
	lost      bool // some of it was dropped: the stream makes no sense any more
	closeOnce sync.Once
}

func newNetwork() *network {
	return &network{cut: make(map[int]bool), links: make(map[*link]struct{})}
}

// source is the address that node i speaks from.
func source(i int) string { return "127.1.0." + strconv.Itoa(i+1) }

// nodeOf is the inverse of source.
func nodeOf(addr net.Addr) int {
	host, _, _ := net.SplitHostPort(addr.String())
	n, err := strconv.Atoi(strings.TrimPrefix(host, "127.1.0."))
	if err != nil {
		return -1
	}
	return n - 1
}

// door opens the way to node to, whose bus is at the given port, and returns the
// port that the others use.
func (w *network) door(to, bus int) (port int, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.doors = append(w.doors, l)
	w.mu.Unlock()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed
			}
			go w.connect(in, to, bus)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (w *network) connect(in net.Conn, to, bus int) {
	out, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(bus))
	if err != nil {
		_ = in.Close() // as if the port were closed
		return
	}
	k := &link{from: nodeOf(in.RemoteAddr()), to: to, in: in, out: out}
	w.mu.Lock()
	w.links[k] = struct{}{}
	w.mu.Unlock()
	go w.pass(k, in, out)
	w.pass(k, out, in)
}

// pass copies one direction of a link, and drops what a cut doesn't let through.
func (w *network) pass(k *link, from io.Reader, to io.Writer) {
	defer w.drop(k)
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if w.isLost(k) {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (w *network) isLost(k *link) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k.lost = k.lost || w.cut[k.from] || w.cut[k.to]
	return k.lost
}

func (w *network) drop(k *link) {
	k.closeOnce.Do(func() {
		_, _ = k.in.Close(), k.out.Close()
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, k)
}

// isolate cuts node i off.
func (w *network) isolate(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[i] = true
}

// rejoin ends that. Links that lost something break, and the nodes make new ones.
func (w *network) rejoin(i int) {
	w.mu.Lock()
	delete(w.cut, i)
	var broken []*link
	for k := range w.links {
		if k.from == i || k.to == i {
			broken = append(broken, k)
		}
	}
	w.mu.Unlock()
	for _, k := range broken {
		w.drop(k)
	}
}

func (w *network) close() error {
	w.mu.Lock()
	var errs []error
	for _, l := range w.doors {
		errs = append(errs, l.Close())
	}
	var links []*link
	for k := range w.links {
		links = append(links, k)
	}
	w.mu.Unlock()
	for _, k := range links {
		w.drop(k)
	}
	return errors.Join(errs...)
}

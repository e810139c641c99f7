package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// nodes finds the connection pool of the node that serves a key.
//
// The client is go-redis, which Redis themselves keep. It is used below its
// cluster client's routing: a pipeline must stay on one connection for WAIT to
// cover it, and an ASK must not be followed (see lua/head.lua). What is taken from
// the cluster client is the map of slots, and its pools. A server that is not in a cluster
// counts as the only node of one.
type nodes struct {
	*redis.ClusterClient
	down sync.Map // *redis.Client -> time.Time when it last didn't answer
}

// silence is how long a node that didn't answer is passed over by what can do without it.
const silence = 2 * time.Second

var errSilent = errors.New("the node did not answer a moment ago")

func (n *nodes) note(node *redis.Client, cmds []*redis.Cmd) {
	var reply redis.Error
	if err := cmds[0].Err(); err != nil && !errors.As(err, &reply) {
		n.down.Store(node, time.Now())
		return
	}
	if _, was := n.down.Load(node); was {
		n.down.Delete(node)
	}
}

func (n *nodes) silent(node *redis.Client) bool {
	at, ok := n.down.Load(node)
	return ok && time.Since(at.(time.Time)) < silence
}

// dial connects, and finds out whether it is a cluster.
func dial(ctx context.Context, o Options) (*nodes, error) {
	timeout := o.waitTimeout + o.RetryFor/4
	opt := &redis.UniversalOptions{
		Addrs: o.Addrs, Username: o.Username, Password: o.Password, TLSConfig: o.TLS,
		MaxRetries: -1, ReadTimeout: timeout, WriteTimeout: timeout, DialTimeout: o.RetryFor / 4,
		DisableIdentity: true,
	}
	var last error
	for _, addr := range o.Addrs {
		one := *opt
		one.Addrs = []string{addr}
		c := redis.NewClient(one.Simple())
		info, err := c.Info(ctx, "cluster").Result()
		if last = errors.Join(err, c.Close()); last != nil {
			continue
		}
		cluster := opt.Cluster()
		if !strings.Contains(info, "cluster_enabled:1") {
			cluster.PoolSize = 10 * runtime.GOMAXPROCS(0) // the default of a client of one server
			cluster.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{End: slots - 1, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
			}
		}
		return &nodes{ClusterClient: redis.NewClusterClient(cluster)}, nil
	}
	return nil, fmt.Errorf("cannot reach redis at %s: %w", strings.Join(o.Addrs, ", "), last)
}

// checkServer refuses a server whose settings break the store's promises. If the server does not allow CONFIG GET, it logs a
// warning.
func (s *Store) checkServer(ctx context.Context, node *redis.Client) error {
	wanted := []struct{ name, want, why string }{
		{"maxmemory-policy", "noeviction", "or it drops keys silently when it is full"},
		{"min-replicas-to-write", strconv.Itoa(s.opt.Replicas), "or it carries out steps that can't be promised"},
		{"appendonly", "yes", "or it comes back empty after a restart"},
	}
	if s.opt.Replicas == 0 {
		wanted = wanted[:1]
	}
	var errs []error
	for _, w := range wanted {
		values, err := node.ConfigGet(ctx, w.name).Result()
		var reply redis.Error
		if errors.As(err, &reply) {
			s.opt.Logger.Warn("cannot check the settings of a redis server; compare them with those in REDIS.md", "server", node.Options().Addr, "error", err)
			return nil
		}
		if err != nil {
			return nil // it does not answer now; the first call to it reports that
		}
		got := values[w.name]
		if n, err := strconv.Atoi(got); got != w.want && (err != nil || n < s.opt.Replicas) {
			errs = append(errs, fault.As(store.ErrInvalid, "redis server %s has %s %q; want %q, %s: run CONFIG SET %s %s on every node and put it into the configuration",
				node.Options().Addr, w.name, got, w.want, w.why, w.name, w.want))
		}
	}
	return errors.Join(errs...)
}

package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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
// The client is go-redis, which Redis maintains. It is used below its cluster
// client's routing: a pipeline must stay on one connection for WAIT to
// cover it, and an ASK must not be followed (see lua/head.lua). Only the map of slots and
// the pools are the cluster client's. A server that is not in a cluster
// counts as the only node of one.
type nodes struct {
	*redis.ClusterClient
	one   *redis.UniversalOptions // of a client of one server
	alone bool                    // it is not in a cluster
	down  sync.Map                // *redis.Client -> time.Time when it last didn't answer
}

// silence is how long calls that can do without it skip a node that didn't answer.
const silence = 2 * time.Second

var errSilent = errors.New("the node did not answer a moment ago")

func (n *nodes) note(node *redis.Client, cmds []*redis.Cmd) {
	var reply redis.Error
	if err := cmds[0].Err(); err != nil && !errors.As(err, &reply) {
		n.down.Store(node, time.Now())
		return
	}
	n.down.Delete(node)
}

func (n *nodes) silent(node *redis.Client) bool {
	at, ok := n.down.Load(node)
	return ok && time.Since(at.(time.Time)) < silence
}

// dial connects, and finds out whether it is a cluster.
func dial(ctx context.Context, o Options) (*nodes, error) {
	timeout := o.waitTimeout + o.RetryFor/4
	opt := &redis.UniversalOptions{
		Addrs: o.Addrs, CredentialsProviderContext: o.Credentials, Dialer: o.connect, OnConnect: authenticated,
		MaxRetries: -1, ReadTimeout: timeout, WriteTimeout: timeout, DialTimeout: o.RetryFor / 4,
		DisableIdentity: true,
	}
	var failed []string
	for _, addr := range o.Addrs {
		one := *opt
		one.Addrs = []string{addr}
		c := newClient(one.Simple())
		info, err := c.Info(ctx, "cluster").Result()
		_ = c.Close()
		if _, advice := refusal(err); advice != "" {
			return nil, err // the others would say the same
		}
		if o.TLS == nil && errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w; a port for TLS needs rediss:// (Options.TLS)", err)
		}
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		cluster := opt.Cluster()
		cluster.NewClient = newClient
		alone := !strings.Contains(info, "cluster_enabled:1")
		if alone {
			cluster.PoolSize = 10 * runtime.GOMAXPROCS(0) // the default of a client of one server
			cluster.NewClient = func(opt *redis.Options) *redis.Client {
				opt.Addr = addr // it came without its host, if that is loopback
				return newClient(opt)
			}
			cluster.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{End: slots - 1, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
			}
		}
		return &nodes{ClusterClient: redis.NewClusterClient(cluster), one: opt, alone: alone}, nil
	}
	return nil, errors.New(strings.Join(failed, "; "))
}

// connect makes a connection to a server, with the TLS settings of the moment.
func (o Options) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	tcp := net.Dialer{Timeout: o.RetryFor / 4, KeepAlive: 5 * time.Minute}
	if o.TLS == nil {
		return tcp.DialContext(ctx, network, addr)
	}
	config, err := o.TLS(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{NetDialer: &tcp, Config: config}).DialContext(ctx, network, addr)
	if refused := (*net.OpError)(nil); err != nil && !(errors.As(err, &refused) && refused.Op == "dial") {
		err = fmt.Errorf("no TLS connection: %w; check that this is the port for TLS, and the certificates", err)
	}
	return conn, err
}

// authenticated refuses a new connection that lacks a required password: it would stay in the pool, and be used even after there is one.
func authenticated(ctx context.Context, c *redis.Conn) error {
	err := c.Ping(ctx).Err()
	if code, _ := refusal(err); code == "NOAUTH" {
		return err
	}
	return nil
}

// newClient returns a client of one server, whose errors name it.
func newClient(opt *redis.Options) *redis.Client {
	c := redis.NewClient(opt)
	c.AddHook(naming{opt.Addr})
	return c
}

// naming is a hook that turns each error of a server into a serverError. A hook sees all errors: of commands, of their
// connections, and of the client library's own requests for the map of slots.
type naming struct{ addr string }

// DialHook implements redis.Hook.
func (n naming) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (n naming) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := n.name(next(ctx, cmd))
		cmd.SetErr(err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook. If the server refuses a connection, as with a wrong password, the client library
// returns the error for the pipeline, and none for its commands.
func (n naming) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		all := n.name(next(ctx, cmds))
		for _, c := range cmds {
			cmd, ok := c.(*redis.Cmd)
			if err := c.Err(); err != nil {
				c.SetErr(n.name(err))
			} else if ok && cmd.Val() == nil {
				c.SetErr(all)
			}
		}
		return all
	}
}

// name returns err as the error of this server, unless it is one already: the commands of a handshake pass here twice.
func (n naming) name(err error) error {
	if named := (*serverError)(nil); err == nil || errors.Is(err, redis.Nil) || errors.As(err, &named) {
		return err
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		err = dial.Err // without the address, which is in the message
	}
	return &serverError{n.addr, err}
}

// serverError is a server's error, or an error of a connection to it. Its text names the server, and gives advice if a retry
// is useless.
type serverError struct {
	addr string
	err  error
}

func (e *serverError) Error() string {
	text, _, _ := strings.Cut(e.err.Error(), " script: ") // the hash of the script, and its line
	text = "redis server " + e.addr + ": " + strings.TrimSuffix(text, ".")
	if _, advice := refusal(e.err); advice != "" {
		text += "; " + advice
	}
	return text
}

func (e *serverError) Unwrap() error { return e.err }

// refusal returns the code of a server's error, "" for any other error, and advice if a retry is useless: the server
// does not let this client in, or can't write.
func refusal(err error) (code, advice string) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return "", ""
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	code, _, _ = strings.Cut(text, " ")
	switch {
	case code == "NOAUTH":
		advice = "give it a password (password-file= of --redis, or FIRSTSEEN_REDIS_PASSWORD)"
	case code == "WRONGPASS", strings.HasPrefix(text, "AUTH "), strings.HasPrefix(text, "invalid password"):
		code, advice = "WRONGPASS", "check the user in the URL of --redis and the password; a password file is read again at the next connection"
	case code == "NOPERM", strings.Contains(text, "executing the script can't"), strings.Contains(text, "ACL failure in script"): // the last of Valkey
		code, advice = "NOPERM", "give the user the rights that docs/REDIS.md lists"
	case code == "DENIED":
		advice = "the server is in protected mode: give it a password, or a bind address"
	case code == "NOREPLICAS":
		advice = "start its replicas: it takes no writes that they don't get"
	case code == "OOM":
		advice = "its memory is full: raise maxmemory, add a node or forget URLs"
	case code == "MISCONF":
		advice = "it takes no writes while it can't write to its disk: make room there, and see its log"
	}
	return code, advice
}

// CheckServers returns an error for each server whose settings break what the store promises. It includes masters without slots:
// [Open] only logs a warning for these, since a master is added before its replica.
func (s *Store) CheckServers(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return errors.Join(s.checkServing(ctx), s.checkIdle(ctx))
}

// checkServing checks the servers that own slots, and their replicas.
func (s *Store) checkServing(ctx context.Context) error {
	return s.nodes.ForEachShard(ctx, s.checkServer)
}

// checkIdle checks the servers without slots, which are not in go-redis's map.
func (s *Store) checkIdle(ctx context.Context) error {
	if s.nodes.alone {
		return nil
	}
	all, err := s.nodes.ClusterShards(ctx).Result()
	if err != nil {
		s.unchecked(err)
		return nil
	}
	var errs []error
	for _, shard := range all {
		for _, n := range shard.Nodes {
			if len(shard.Slots) > 0 || n.Health == "fail" {
				continue
			}
			port := n.Port
			if s.opt.TLS != nil {
				port = cmp.Or(n.TLSPort, n.Port)
			}
			one := *s.nodes.one
			one.Addrs = []string{net.JoinHostPort(cmp.Or(n.Endpoint, n.IP), strconv.FormatInt(port, 10))}
			c := newClient(one.Simple())
			errs = append(errs, s.checkServer(ctx, c), c.Close())
		}
	}
	return errors.Join(errs...)
}

// unchecked logs that a server was not checked: it does not answer, or refuses to be.
func (s *Store) unchecked(err error) {
	s.opt.Logger.Warn("cannot check the settings of a redis server; compare them with those in docs/REDIS.md", "error", err)
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
		if err != nil {
			s.unchecked(err)
			return nil
		}
		got := values[w.name]
		if n, err := strconv.Atoi(got); got != w.want && (err != nil || n < s.opt.Replicas) {
			errs = append(errs, fault.As(store.ErrInvalid, "redis server %s has %s %q; want %q, %s: run CONFIG SET %s %s on every node and put it into the configuration",
				node.Options().Addr, w.name, got, w.want, w.why, w.name, w.want))
		}
	}
	return errors.Join(errs...)
}

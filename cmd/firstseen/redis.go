package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/store/redisstore"
)

// passwordVariable holds the password of --redis. There is no flag for it: command lines are
// public on most machines.
const passwordVariable = "FIRSTSEEN_REDIS_PASSWORD"

// redisFlags name a store in Redis.
type redisFlags struct {
	addrs                          []string
	prefix, user, passwordFile, ca string
	tls                            bool
	shards, replicas               int
	retry                          time.Duration
}

// add adds the flags that say where the store is.
func (r *redisFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&r.addrs, "redis", nil, "host:port of some nodes of a Redis Cluster, or of one server, where the store is, instead of in --db")
	r.addLogin(fs)
}

// addLogin adds the flags that say how to speak to the servers.
func (r *redisFlags) addLogin(fs *pflag.FlagSet) {
	fs.StringVar(&r.prefix, "redis-prefix", "fs:", "what every key of the store begins with")
	fs.StringVar(&r.user, "redis-user", "", "user name to log in with")
	fs.StringVar(&r.passwordFile, "redis-password-file", "", "file with the password; or set "+passwordVariable)
	fs.BoolVar(&r.tls, "redis-tls", false, "speak TLS to the servers")
	fs.StringVar(&r.ca, "redis-ca", "", "roots that the servers' certificates must come from, PEM; the system's if not given")
	fs.IntVar(&r.replicas, "redis-replicas", 1, "replicas that must have a write before it is answered; 0 for none: then a failover may lose what was answered")
	fs.DurationVar(&r.retry, "redis-retry", 10*time.Second, "how long a step is tried again while servers fail over, before it FAILs")
}

// addNew adds the flag that matters only where a store is made.
func (r *redisFlags) addNew(fs *pflag.FlagSet) {
	fs.IntVar(&r.shards, "redis-shards", 64, "shards of a store that is made; fixed from then on")
}

func (r *redisFlags) given() bool { return len(r.addrs) > 0 }

// notWith returns an error if one of the flags was given that mean nothing with --redis.
func (r *redisFlags) notWith(flags *pflag.FlagSet, names ...string) error {
	if !r.given() {
		return nil
	}
	for _, name := range names {
		if flags.Changed(name) {
			return misusef("cannot use --%s with --redis: it is about a store on this machine's disk", name)
		}
	}
	return nil
}

// open opens the store. What the flags don't say comes from o.
func (r *redisFlags) open(ctx context.Context, log *slog.Logger, o redisstore.Options) (*redisstore.Store, error) {
	for _, addr := range r.addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, misusef("cannot use --redis; got %q; want host:port", addr)
		}
	}
	if r.replicas < 0 || r.shards < 0 {
		return nil, misusef("cannot use --redis-replicas %d, --redis-shards %d; want none below 0", r.replicas, r.shards)
	}
	redis.SetLogger(redisLog{log})
	o.Addrs, o.Prefix, o.Username, o.Shards = r.addrs, r.prefix, r.user, r.shards
	o.RetryFor, o.Replicas = r.retry, noneIfZero(r.replicas)
	var err error
	if o.Password, err = r.password(); err != nil {
		return nil, err
	}
	if o.TLS, err = r.tlsConfig(); err != nil {
		return nil, err
	}
	s, err := redisstore.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cannot open store at %s: %w", strings.Join(r.addrs, ","), err)
	}
	return s, nil
}

// password reads the password, of the file or else of the environment.
func (r *redisFlags) password() (string, error) {
	if r.passwordFile == "" {
		return os.Getenv(passwordVariable), nil
	}
	b, err := os.ReadFile(r.passwordFile)
	if err != nil {
		return "", fmt.Errorf("cannot read password: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func (r *redisFlags) tlsConfig() (*tls.Config, error) {
	if !r.tls && r.ca == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca == "" {
		return c, nil
	}
	pem, err := os.ReadFile(r.ca)
	if err != nil {
		return nil, fmt.Errorf("cannot read roots: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, misusef("cannot use --redis-ca %s; got no certificate; want PEM", r.ca)
	}
	return c, nil
}

// redisLog takes what the client library says of its connections; what becomes of
// steps, the store's own errors say.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis: "+fmt.Sprintf(format, v...))
}

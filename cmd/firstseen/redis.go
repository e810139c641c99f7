package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/store/redisstore"
)

// passwordVariable holds the password of --redis. It is no setting, since other users can read command lines.
const passwordVariable = "FIRSTSEEN_REDIS_PASSWORD"

// redisSyntax is what a flag that names a store in Redis takes.
const redisSyntax = "host:port of some nodes of a Redis Cluster, or of one server; with settings, one of them as redis://[USER@]HOST:PORT?NAME=VALUE&…, " +
	"or rediss://… for TLS: prefix, password-file, ca, replicas, retry, shards, groups (see docs/REDIS.md)"

// redisFlags name a store in Redis.
type redisFlags struct{ where []string }

func (r *redisFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&r.where, "redis", nil, "instead of --db, a store in Redis: "+redisSyntax)
}

func (r *redisFlags) given() bool { return len(r.where) > 0 }

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

// redisPlace is a store in Redis as typed, without the contents of files.
type redisPlace struct {
	addrs            []string
	user, prefix     string
	tls              bool
	passwordFile, ca string
	replicas, shards int
	retry            time.Duration
	groups           bool
}

// place reads what the flag names. Its errors repeat no part of an address that could be a password.
func (r *redisFlags) place() (redisPlace, error) {
	p := redisPlace{prefix: "fs:", replicas: 1}
	withSettings := false
	for _, where := range r.where {
		if strings.Contains(where, "://") {
			if withSettings {
				return p, misusef("cannot use a second URL in --redis; want the other nodes as host:port")
			}
			withSettings = true
			addr, err := p.url(where)
			if err != nil {
				return p, misusef("cannot use the URL in --redis: %w", err)
			}
			where = addr
		}
		if strings.Contains(where, "@") {
			return p, misusef("cannot use --redis; got a user without redis://; want host:port, or redis://[USER@]HOST:PORT")
		}
		if _, _, err := net.SplitHostPort(where); err != nil {
			return p, misusef("cannot use --redis; got %q; want host:port", where)
		}
		p.addrs = append(p.addrs, where)
	}
	return p, nil
}

// url reads the settings of a URL, and returns its host and port.
func (p *redisPlace) url(where string) (addr string, err error) {
	u, err := url.Parse(where)
	if err != nil {
		return "", errors.New("it is not valid; want redis://[USER@]HOST:PORT?NAME=VALUE&…, with %XX for special characters")
	}
	_, secret := u.User.Password()
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return "", fmt.Errorf("got scheme %q; want redis, or rediss for TLS", u.Scheme)
	case secret:
		return "", fmt.Errorf("got a password, which others can see; want it in %s or in the file of password-file=", passwordVariable)
	case strings.Contains(u.Path+u.Fragment, "@"):
		return "", errAt
	case u.Path != "" && u.Path != "/" || u.Fragment != "":
		return "", fmt.Errorf("got %q after the address; want ?NAME=VALUE alone", u.Path+u.Fragment)
	}
	p.tls, p.user = u.Scheme == "rediss", u.User.Username()
	settings, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New("its settings are not valid; want NAME=VALUE&…, with %XX for special characters")
	}
	for name, values := range settings {
		if err := p.set(name, values[len(values)-1]); err != nil {
			return "", err
		}
	}
	if p.ca != "" && !p.tls {
		return "", errors.New("got ca without TLS; want rediss://")
	}
	return u.Host, nil
}

var errAt = errors.New("got @ after the address; want %40 for special characters of the user, and no password")

func (p *redisPlace) set(name, value string) (err error) {
	switch name {
	case "prefix":
		p.prefix = value
	case "password-file":
		p.passwordFile = value
	case "ca":
		p.ca = value
	case "replicas":
		p.replicas, err = strconv.Atoi(value)
	case "shards":
		p.shards, err = strconv.Atoi(value)
	case "groups":
		if p.groups, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("got groups=%s; want true or false", value)
		}
	case "retry":
		p.retry, err = time.ParseDuration(value)
	default:
		if strings.Contains(name, "@") { // a password with a question mark
			return errAt
		}
		return fmt.Errorf("got setting %q; want prefix, password-file, ca, replicas, retry, shards or groups", name)
	}
	if err != nil || p.replicas < 0 || p.shards < 0 || p.retry < 0 {
		return fmt.Errorf("got %s=%s; want a number or time of 0 or more", name, value)
	}
	return nil
}

// open opens the store. What the flag doesn't say comes from o.
func (r *redisFlags) open(ctx context.Context, log *slog.Logger, o redisstore.Options) (*redisstore.Store, error) {
	p, err := r.place()
	if err != nil {
		return nil, err
	}
	redis.SetLogger(redisLog{log})
	o.Addrs, o.Prefix, o.Shards, o.Groups = p.addrs, p.prefix, p.shards, p.groups
	o.RetryFor, o.Replicas, o.Logger = p.retry, noneIfZero(p.replicas), log
	o.Credentials = p.credentials
	if p.tls {
		o.TLS = p.tlsConfig
	}
	// Each connection reads the files again. Here they are read so that a mistake is found before a server is asked.
	if _, _, err := p.credentials(ctx); err != nil {
		return nil, err
	}
	if _, err := p.tlsConfig(ctx); err != nil {
		return nil, err
	}
	return redisstore.Open(ctx, o)
}

// credentials returns the user, and the password of the file or else of the environment.
func (p *redisPlace) credentials(context.Context) (user, password string, err error) {
	if p.passwordFile == "" {
		return p.user, os.Getenv(passwordVariable), nil
	}
	b, err := os.ReadFile(p.passwordFile)
	if err != nil {
		return "", "", fmt.Errorf("cannot read password: %w", err)
	}
	return p.user, strings.TrimRight(string(b), "\r\n"), nil
}

func (p *redisPlace) tlsConfig(context.Context) (*tls.Config, error) {
	roots, err := rootsOf("ca", p.ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, err
}

// redisLog is the log of the client library, whose errors the store reports itself.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis: "+fmt.Sprintf(format, v...))
}

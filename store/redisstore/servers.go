package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/store"
)

// checkServers refuses servers whose settings break the promises of the store. If a server does not report
// its settings, it is accepted with a warning.
func (s *Store) checkServers(ctx context.Context) error {
	if s.nodes.single != nil {
		return s.checkServer(ctx, s.nodes.single)
	}
	var mu sync.Mutex
	var all error
	err := s.nodes.cluster.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
		err := s.checkServer(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		all = errors.Join(all, err)
		return nil
	})
	return errors.Join(all, err)
}

func (s *Store) checkServer(ctx context.Context, node *redis.Client) error {
	addr, got := node.Options().Addr, map[string]string{}
	for _, name := range []string{"min-replicas-to-write", "maxmemory-policy", "appendonly"} {
		values, err := node.ConfigGet(ctx, name).Result()
		var reply redis.Error
		if errors.As(err, &reply) {
			s.opt.Log.Warn("cannot check the settings of a redis server; REDIS.md says what they must be", "server", addr, "error", err)
			return nil
		}
		if err != nil {
			return nil // it doesn't answer now; what needs it finds out
		}
		got[name] = values[name]
	}
	wrong := func(name, want, why string) error {
		return fmt.Errorf("redis server %s has %s %q; want %q, %s: run CONFIG SET %s %s and put it into its configuration: %w",
			addr, name, got[name], want, why, name, want, store.ErrInvalid)
	}
	var errs []error
	if got["maxmemory-policy"] != "noeviction" {
		errs = append(errs, wrong("maxmemory-policy", "noeviction", "or it drops keys silently when it is full"))
	}
	if s.opt.Replicas == 0 {
		return errors.Join(errs...)
	}
	if n, err := strconv.Atoi(got["min-replicas-to-write"]); err == nil && n < s.opt.Replicas {
		errs = append(errs, wrong("min-replicas-to-write", strconv.Itoa(s.opt.Replicas), "or it carries out steps that can't be promised"))
	}
	if got["appendonly"] != "yes" {
		errs = append(errs, wrong("appendonly", "yes", "or it comes back empty after a restart"))
	}
	return errors.Join(errs...)
}

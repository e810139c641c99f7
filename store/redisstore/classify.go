package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/store"
)

// verdict is the action for a failed call; a larger one is worse.
type verdict int

const (
	retry  verdict = iota // the same again
	reload                // again, when the map of slots was asked for
	fatal                 // never again
)

// classify returns the action for a call that failed, and wraps its error. A node that
// doesn't have the script gets it, once for all calls of a pipeline.
func (s *Store) classify(ctx context.Context, node *redis.Client, c *call, loaded map[*script]bool) verdict {
	var reply redis.Error
	if errors.Is(c.err, store.ErrUnavailable) {
		return fatal
	}
	if !errors.As(c.err, &reply) {
		return reload // the connection broke, or a node doesn't answer
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(reply.Error(), "ERR "), " ")
	switch code {
	case "NOSCRIPT":
		if loaded[c.script] {
			return retry
		}
		loaded[c.script] = true
		if err := node.ScriptLoad(ctx, c.script.source).Err(); err != nil {
			c.err = err
		}
		return retry
	case "MOVED", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "UNBLOCKED":
		return reload
	case "ASK", "TRYAGAIN":
		return reload // the slot is on its way: its shard waits
	case "WAIT", "Script", "max":
		return reload // no master any more; the cluster went down in the script; too many clients
	case "BUSY":
		return retry
	case "EMPTIED":
		c.err = s.emptied(c.shard)
		return fatal
	case "NOREPLICAS", "OOM", "MISCONF":
		c.err = fmt.Errorf("cannot write: %w: %w", store.ErrUnavailable, c.err)
		return fatal
	}
	c.err = fmt.Errorf("cannot run %s: %w", c.script.name, c.err)
	return fatal
}

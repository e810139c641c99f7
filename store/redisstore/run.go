package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// call is a script to run in one shard.
type call struct {
	shard  int
	script *script
	id     requestID // zero for one that writes nothing
	crawl  string
	blob   []byte

	reply   string
	done    bool
	skipped bool // it isn't sent again
	err     error
	verdict verdict // on err
}

// run runs calls, those of a node in one pipeline, until each has its answer, or
// one fails permanently, or the time for retries is over. Calls that write are
// covered by WAIT. A call is safe to send again: its id sees to that.
func (s *Store) run(ctx context.Context, calls []*call) error {
	until := time.Now().Add(s.opt.RetryFor)
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		s.attempt(context.WithoutCancel(ctx), calls)
		worst := worstOf(calls)
		if worst == nil {
			return nil
		}
		if worst.verdict == fatal {
			return worst.err
		}
		if time.Now().After(until) {
			return fmt.Errorf("cannot reach the shard; tried for %v: %w: %w", s.opt.RetryFor, store.ErrUnavailable, worst.err)
		}
		_ = async.Sleep(ctx, min(time.Millisecond<<min(try, 10), 200*time.Millisecond))
	}
}

// runSome runs calls that don't need each other: one that fails permanently, or whose node can't be reached, is left
// without an answer if others have one. It returns an error if none has.
func (s *Store) runSome(ctx context.Context, calls []*call) error {
	began := time.Now()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		s.attemptSome(context.WithoutCancel(ctx), calls, try == 0)
		answered := slices.ContainsFunc(calls, func(c *call) bool { return c.done })
		open := false
		for _, c := range calls {
			c.skipped = !c.done && (c.skipped || c.verdict == fatal || answered && c.err == errSilent)
			open = open || !c.done && !c.skipped
		}
		worst, passed := worstOf(calls), time.Since(began)
		switch {
		case worst == nil, answered && (!open || passed > s.opt.WaitTimeout):
			return nil
		case !open || passed > s.opt.RetryFor:
			return fmt.Errorf("cannot reach any shard; tried for %v: %w: %w", passed, store.ErrUnavailable, worst.err)
		}
		_ = async.Sleep(ctx, min(time.Millisecond<<min(try, 10), 200*time.Millisecond))
	}
}

// gaveUp is the error when a context ended; before the first try nothing happened.
func (s *Store) gaveUp(try int, err error) error {
	if try == 0 {
		return err
	}
	return fmt.Errorf("cannot tell what became of the step: %w: %w", store.ErrUnavailable, err)
}

// worstOf returns the call whose failure decides what to do, nil if none failed.
func worstOf(calls []*call) (worst *call) {
	for _, c := range calls {
		if !c.done && (worst == nil || c.verdict > worst.verdict) {
			worst = c
		}
	}
	return worst
}

// attempt sends the calls that have no answer.
func (s *Store) attempt(ctx context.Context, calls []*call) { s.attemptSome(ctx, calls, false) }

// attemptSome does so, but can pass over nodes that did not answer a moment ago.
func (s *Store) attemptSome(ctx context.Context, calls []*call, passOver bool) {
	groups := map[*redis.Client][]*call{}
	for _, c := range calls {
		if c.done || c.skipped {
			continue
		}
		node, err := s.nodes.of(ctx, s.layout.sentinel(c.shard))
		if err != nil {
			c.err, c.verdict = err, reload
			continue
		}
		if passOver && s.nodes.silent(node) {
			c.err, c.verdict = errSilent, retry
			continue
		}
		groups[node] = append(groups[node], c)
	}
	var wg sync.WaitGroup
	for node, list := range groups {
		if len(groups) == 1 {
			s.pipeline(ctx, node, list)
		} else {
			wg.Go(func() { s.pipeline(ctx, node, list) })
		}
	}
	wg.Wait()
	for _, c := range calls {
		if !c.done && !c.skipped && c.verdict == reload {
			s.nodes.refresh(ctx)
			return
		}
	}
}

// pipeline runs calls on one connection to a node, with a WAIT after them.
func (s *Store) pipeline(ctx context.Context, node *redis.Client, calls []*call) {
	p := node.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	writes := false
	for i, c := range calls {
		mark := s.layout.mark
		if c.script.bare {
			mark = ""
		}
		cmds[i] = p.Do(ctx, "evalsha", c.script.sha, 1, s.layout.sentinel(c.shard), c.id.text(), s.clock(), s.kept, c.crawl, c.blob, mark)
		writes = writes || c.script.writes
	}
	var wait *redis.Cmd
	if writes && s.opt.Replicas > 0 {
		wait = p.Do(ctx, "wait", s.opt.Replicas, s.opt.WaitTimeout.Milliseconds())
	}
	_, _ = p.Exec(ctx) // each command has its own error
	s.nodes.note(node, cmds)
	covered, loaded := s.covered(wait), map[*script]bool{}
	for i, c := range calls {
		c.reply, c.err = cmds[i].Text()
		if c.err == nil && c.script.writes {
			c.err = covered
		}
		if c.done = c.err == nil; !c.done {
			c.verdict = s.classify(ctx, node, c, loaded)
		}
	}
}

// covered returns an error unless enough replicas have the written data.
func (s *Store) covered(wait *redis.Cmd) error {
	if wait == nil {
		return nil
	}
	n, err := wait.Int()
	if err != nil {
		return err
	}
	if n < s.opt.Replicas {
		return fmt.Errorf("cannot promise the write; got %d replicas that have it within %v; want %d: %w",
			n, s.opt.WaitTimeout, s.opt.Replicas, store.ErrUnavailable)
	}
	return nil
}

// clock returns the time that scripts take, "" for the server's.
func (s *Store) clock() string {
	if s.opt.clock == nil {
		return ""
	}
	return strconv.FormatInt(s.opt.clock().UnixMilli(), 10)
}

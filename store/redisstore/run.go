package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
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
func (s *Store) run(ctx context.Context, calls []*call) error { return s.repeat(ctx, calls, false) }

// ask runs one script in one shard, and returns a reader of its reply.
func (s *Store) ask(ctx context.Context, sc *script, shard int, crawl string, blob []byte) (*reader, error) {
	c := &call{shard: shard, script: sc, crawl: crawl, blob: blob}
	if sc.writes {
		c.id = s.requests.id()
	}
	err := s.run(ctx, []*call{c})
	return &reader{c.reply}, err
}

// repeat sends calls until they are answered. If some answers are enough, a call that fails permanently, or whose node cannot be
// reached or lacks replicas, is left without one.
func (s *Store) repeat(ctx context.Context, calls []*call, some bool) error {
	began := time.Now()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		s.attempt(context.WithoutCancel(ctx), calls, some && try == 0)
		answered, open, left := false, false, 0
		for _, c := range calls {
			answered = answered || c.done
			c.skipped = some && !c.done && (c.skipped || c.verdict == fatal || c.verdict == short)
			open = open || !c.done && !c.skipped && !errors.Is(c.err, errSilent)
			if !c.skipped {
				left++
			}
		}
		worst, passed := worstOf(calls), time.Since(began)
		switch {
		case worst == nil, some && answered && (!open || passed > s.opt.waitTimeout):
			return nil
		case worst.verdict == fatal && (!some || left == 0):
			return worst.err
		case passed > s.opt.RetryFor, left == 0:
			return fault.As(store.ErrUnavailable, "cannot use shard %s; tried for %v: %w", s.layout.name(worst.shard), passed.Round(time.Millisecond), worst.err)
		}
		_ = async.Sleep(ctx, min(time.Millisecond<<min(try, 10), 200*time.Millisecond))
	}
}

// gaveUp is the error when a context ended; before the first try nothing happened.
func (s *Store) gaveUp(try int, err error) error {
	if try == 0 {
		return err
	}
	return fmt.Errorf("cannot complete the step: it may or may not be stored; send it again: %w: %w", store.ErrUnavailable, err)
}

// untilSettled repeats a step until it has nothing left that another daemon has begun. What that is, the step finishes
// itself, so it comes to an end unless daemons begin more and more with the same keys.
func (s *Store) untilSettled(ctx context.Context, step func(context.Context) (bool, error)) error {
	until := time.Now().Add(s.opt.recoverAfter + s.opt.RetryFor)
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return s.gaveUp(try, err)
		}
		ok, err := step(ctx)
		if ok || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fault.As(store.ErrUnavailable, "cannot wait for other daemons' steps any longer")
		}
		if try > 0 {
			_ = async.Sleep(ctx, min(time.Millisecond<<min(try, 10), 100*time.Millisecond))
		}
	}
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

// attempt sends the calls that have no answer. It can pass over nodes that did not answer a moment ago.
func (s *Store) attempt(ctx context.Context, calls []*call, passOver bool) {
	groups := map[*redis.Client][]*call{}
	for _, c := range calls {
		if c.done || c.skipped {
			continue
		}
		node, err := s.nodes.MasterForKey(ctx, s.layout.sentinel(c.shard))
		if err != nil { // no node said who has the slot
			c.err = err
			c.verdict = s.classify(ctx, nil, c, nil)
			continue
		}
		if passOver && s.nodes.silent(node) {
			c.err, c.verdict = &serverError{node.Options().Addr, errSilent}, retry
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
			s.nodes.ReloadState(ctx)
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
		if c.script == scriptBirth || c.script == scriptMeta { // they make the mark of the store
			mark = ""
		}
		cmds[i] = p.Do(ctx, "evalsha", c.script.Hash(), 1, s.layout.sentinel(c.shard), c.id.text(), s.clock(), s.kept, c.crawl, c.blob, mark)
		writes = writes || c.script.writes
	}
	var wait *redis.Cmd
	if writes && s.opt.Replicas > 0 {
		wait = p.Do(ctx, "wait", s.opt.Replicas, s.opt.waitTimeout.Milliseconds())
	}
	_, _ = p.Exec(ctx) // each command has its own error, see naming
	s.nodes.note(node, cmds)
	covered, loaded := s.covered(node, wait), map[*script]bool{}
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

var errShort = errors.New("too few replicas")

func (s *Store) covered(node *redis.Client, wait *redis.Cmd) error {
	if wait == nil {
		return nil
	}
	n, err := wait.Int()
	if err != nil {
		return err
	}
	if n < s.opt.Replicas {
		return fault.As(errShort, "redis server %s: %d of %d replicas have the write after %v; check its replicas and its load",
			node.Options().Addr, n, s.opt.Replicas, s.opt.waitTimeout)
	}
	return nil
}

func (s *Store) clock() string {
	if s.opt.clock == nil {
		return ""
	}
	return strconv.FormatInt(s.opt.clock().UnixMilli(), 10)
}

// verdict is the action for a failed call; a larger one is worse.
type verdict int

const (
	retry  verdict = iota // the same again
	short                 // again: the replicas were slow. Its leases run, so a take does not wait
	reload                // again, when the map of slots was asked for
	fatal                 // never again
)

// classify returns the action for a call that failed, and wraps its error. A node that
// doesn't have the script gets it, once for all calls of a pipeline.
func (s *Store) classify(ctx context.Context, node *redis.Client, c *call, loaded map[*script]bool) verdict {
	if errors.Is(c.err, errShort) {
		return short
	}
	code, advice := refusal(c.err)
	if advice != "" {
		c.err = fault.As(store.ErrUnavailable, "%w", c.err)
		return fatal
	}
	switch code {
	case "", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "UNBLOCKED", "WAIT", "Script", "max":
		// The connection broke, or the node doesn't answer. The slot is elsewhere or moves there; the node is no master any more, or
		// not yet; it has too many clients.
		return reload
	case "NOSCRIPT":
		if !loaded[c.script] {
			loaded[c.script] = true
			c.err = errors.Join(c.err, c.script.Load(ctx, node).Err())
		}
		return retry
	case "BUSY":
		return retry
	case "EMPTIED":
		c.err = &serverError{node.Options().Addr, s.emptied(c.shard)}
		return fatal
	case "NOREPLICAS", "OOM", "MISCONF":
		c.err = fault.As(store.ErrUnavailable, "cannot write to shard %s: %w", s.layout.name(c.shard), c.err)
		return fatal
	}
	c.err = fmt.Errorf("cannot run %s on shard %s: %w", c.script.name, s.layout.name(c.shard), c.err)
	return fatal
}

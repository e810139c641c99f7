package redisstore

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// A batch divides work among shards, with one script call for each. The calls to a node share one pipeline on one
// connection, followed by WAIT, which covers only what this connection wrote. That is why go-redis doesn't route the commands: it would
// send WAIT on any connection.
//
// A call without an answer may have been carried out. So it has an id, under which its shard keeps the answer, and the same call is
// resent until it is answered, fails permanently, or Options.RetryFor is over.
//
// A batch and its calls belong to the goroutine that made them. While attempt runs, the calls of a node
// belong to the goroutine of its pipeline.

//go:embed lua/*.lua
var lua embed.FS

// script is a server-side step, made of the files of lua/ that it is named by.
type script struct {
	redis  func() *redis.Script // made when it is first sent: all together are megabytes, which most commands of the program never need
	name   string
	repeat repeat
}

// repeat is the reason why a script is safe to resend.
type repeat byte

const (
	anytime  repeat = iota // repeating it does no harm, and no promise depends on it: there is no WAIT
	answered               // its answer is kept under the id of the call
	receipts               // it keeps a receipt for each step; see lua/receipts.lua
)

// Parts that scripts begin with.
const (
	// whenFull begins scripts that free memory, and those needed before them: a server runs them even if its memory is full.
	whenFull  = "full "
	partPlain = "head crawl "
	partSeen  = "head crawl seen steps marks "
	partQueue = "head crawl rows settings group queue record file "
	partTake  = partQueue + "advance serve state "
)

var (
	scriptOffer        = newScript(partSeen+"offer", answered)
	scriptResolve      = newScript(partSeen+"resolve", anytime)
	scriptJudge        = newScript(partSeen+"resolve", answered)
	scriptPlace        = newScript(partSeen+"place", answered)
	scriptForget       = newScript(whenFull+partSeen+"place", answered)
	scriptEnd          = newScript(whenFull+partSeen+"end", anytime)
	scriptPage         = newScript(partSeen+"page", anytime)
	scriptEnqueue      = newScript(partQueue+"receipts enqueue", receipts)
	scriptRelease      = newScript(whenFull+partQueue+"receipts release", receipts)
	scriptSettle       = newScript(partQueue+"settle", answered)
	scriptDeleteQueue  = newScript(whenFull+partQueue+"deletequeue", answered)
	scriptDeletedQueue = newScript(whenFull+partQueue+"deletedqueue", anytime)
	scriptConfigure    = newScript(partQueue+"configure", answered)
	scriptInfo         = newScript(partQueue+"advance info", anytime)
	scriptTake         = newScript(partTake+"rotate take", answered)
	scriptTakeFrom     = newScript(partTake+"takefrom take", answered)
	scriptGiveBack     = newScript(whenFull+partQueue+"giveback", anytime)
	scriptLookup       = newScript(partQueue+"found lookup", anytime)
	scriptEntries      = newScript(partQueue+"found entries", anytime)
	scriptSweep        = newScript(whenFull+partQueue+"seen marks sweep", answered)
	scriptReady        = newScript(partPlain+"settings group state ready", anytime)
	scriptStats        = newScript(partPlain+"stats", anytime)
	scriptForgetCrawl  = newScript(whenFull+partPlain+"forgetcrawl", answered)
	scriptOverdue      = newScript(partPlain+"overdue", anytime)
	scriptLeftovers    = newScript(whenFull+partPlain+"steps leftovers", anytime)
	scriptBeat         = newScript(partPlain+"beat", anytime)
	scriptKeep         = newScript("head keep", anytime)
	scriptBirth        = newScript(partPlain+"birth", answered)
	scriptMark         = newScript(partPlain+"marks mark", answered)
	scriptSettings     = newScript(partPlain+"settings crawlsettings", anytime)
	scriptMeta         = newScript(whenFull+"head meta", answered)
)

func newScript(parts string, repeat repeat) *script {
	names := strings.Fields(parts)
	return &script{sync.OnceValue(func() *redis.Script {
		var source strings.Builder
		for _, name := range names {
			text, _ := lua.ReadFile("lua/" + name + ".lua") // with a misspelt name, no test passes
			source.Write(text)
			source.WriteByte('\n')
			if name == "head" { // closures over locals of an outer function cost less
				source.WriteString("return (function()\n")
			}
		}
		return redis.NewScript(source.String() + "end)()\n")
	}), names[len(names)-1], repeat}
}

// call is a script to run in one shard.
type call struct {
	shard  int
	script *script
	id     string // "" if no answer is kept
	crawl  string
	blob   []byte
	of     []int // the caller's numbers of the things in the blob, in order
	group  group // of an offer

	reply   string
	done    bool
	skipped bool // it isn't sent again
	err     error
	verdict verdict // on err
}

// batch gathers the calls of one phase of an operation, by shard.
type batch struct {
	s      *Store
	script *script
	id     [16]byte // its calls have this one, with the number of their part for the last byte
	nth    int      // the part: when a shard's call is full, all shards begin another one, which delivers steps in order
	crawl  string
	head   []byte // what each blob begins with
	calls  []*call
	last   map[int]*call // by shard
	room   int           // for a blob
}

// maxPart is how many keys or URLs one script call may be about: it stops its server for about 20 µs for each.
const maxPart = 256

func (s *Store) batch(sc *script, crawl string, head []byte) *batch {
	return &batch{s: s, script: sc, id: s.newID(), crawl: crawl, head: head, last: map[int]*call{}}
}

// newID returns an id that no other batch of any daemon has. Calls to different shards share it: steps of an
// add that go to the same queue's home have the same ticket, and go in one call.
func (s *Store) newID() (id [16]byte) {
	copy(id[:], s.self[:])
	binary.BigEndian.PutUint64(id[8:], s.batches.Add(1)<<8)
	return id
}

// expect makes room for n things of so many bytes in all calls.
func (b *batch) expect(n, bytes int) *batch {
	b.room = bytes * min(maxPart, 2*n/b.s.opt.Shards+1)
	return b
}

// call returns the last call of a shard if it has room for one thing more and its blob begins with more, else a new one. A shard's
// calls are sent in order.
func (b *batch) call(shard int, more ...byte) *call {
	c := b.last[shard]
	if c == nil || len(c.of) == maxPart || !bytes.HasPrefix(c.blob[len(b.head):], more) {
		if c != nil && b.script.repeat == answered {
			b.nth++
			clear(b.last)
		}
		c = &call{shard: shard, script: b.script, crawl: b.crawl, blob: append(append(make([]byte, 0, b.room), b.head...), more...)}
		if b.script.repeat == answered {
			c.id = string(append(b.id[:15:15], byte(b.nth)))
		}
		b.last[shard] = c
		b.calls = append(b.calls, c)
	}
	return c
}

// add returns the call of a shard, with i noted as the next thing in it.
func (b *batch) add(shard, i int, more ...byte) *call {
	c := b.call(shard, more...)
	c.of = append(c.of, i)
	return c
}

// addKey returns the call of a key's home, with the key's place in its blob.
func (b *batch) addKey(i int, key *store.Key) *call {
	shard, place := b.s.layout.ofKey(key)
	c := b.add(shard, i)
	c.blob = appendUint(c.blob, 4, uint64(place))
	return c
}

func (b *batch) everywhere() *batch {
	for i := range b.s.opt.Shards {
		b.add(i, i)
	}
	return b
}

// run runs the calls until each has its answer, or one fails permanently.
func (b *batch) run(ctx context.Context) error { return b.s.run(ctx, b.calls, false) }

// read runs the batch, and calls f with the number of each answered thing, in order, and the reader of its answer.
// If some calls fail, it reads the answers of the others.
func (b *batch) read(ctx context.Context, f func(i int, r *reader)) error {
	err := b.run(ctx)
	for _, c := range b.calls {
		r := reader{c.reply}
		for _, i := range c.of {
			if !c.done || r.left == overrun {
				break
			}
			f(i, &r)
		}
		err = errors.Join(err, r.err())
	}
	return err
}

// ask runs one script in one shard, and returns a reader of its reply.
func (s *Store) ask(ctx context.Context, sc *script, shard int, crawl string, blob []byte) (*reader, error) {
	b := s.batch(sc, crawl, blob)
	c := b.call(shard)
	err := b.run(ctx)
	return &reader{c.reply}, err
}

// asker is ask, or askApart.
type asker func(ctx context.Context, sc *script, shard int, crawl string, blob []byte) (*reader, error)

// askApart is ask for a listing: between its pages, the store can be closed.
func (s *Store) askApart(ctx context.Context, sc *script, shard int, crawl string, blob []byte) (*reader, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.ask(ctx, sc, shard, crawl, blob)
}

// pages asks for page after page, and calls f with each until f returns false. The script gets a cursor after the head of its blob,
// empty at first, and its reply begins with the next one, empty at the end.
func pages(ctx context.Context, ask asker, sc *script, shard int, crawl string, head []byte, f func(r *reader) bool) error {
	for cursor := ""; ; {
		r, err := ask(ctx, sc, shard, crawl, append(head[:len(head):len(head)], cursor...))
		if err != nil {
			return err
		}
		cursor = r.short()
		if more := f(r); !more || cursor == "" || r.err() != nil {
			return r.err()
		}
	}
}

// run sends calls until they are answered, or ctx ends. With some, a call that fails permanently, or whose node
// cannot be reached or lacks replicas, is left without an answer.
func (s *Store) run(ctx context.Context, calls []*call, some bool) error {
	began := time.Now()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
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

// untilClear repeats a step until no step of another daemon is in its way. It finishes those itself, so it
// ends unless daemons keep beginning new ones with the same keys.
func (s *Store) untilClear(ctx context.Context, step func() (bool, error)) error {
	until := time.Now().Add(s.opt.recoverAfter + s.opt.RetryFor)
	for try := 0; ; try++ {
		if ok, err := step(); ok || err != nil {
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

// worstOf returns the call with the worst verdict, nil if none failed.
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
		switch {
		case err != nil: // no node said who has the slot
			c.err = err
			c.verdict = s.classify(ctx, nil, c, nil)
		case passOver && s.nodes.silent(node):
			c.err, c.verdict = &serverError{node.Options().Addr, errSilent}, retry
		default:
			groups[node] = append(groups[node], c)
		}
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
	waits := false
	for i, c := range calls {
		mark, clock := s.layout.mark, ""
		if c.script == scriptBirth || c.script == scriptMeta { // they make the mark of the store
			mark = ""
		}
		if s.opt.clock != nil {
			clock = strconv.FormatInt(s.opt.clock().UnixMilli(), 10)
		}
		cmds[i] = p.Do(ctx, "evalsha", c.script.redis().Hash(), 1, s.layout.sentinel(c.shard), c.id, clock, s.kept, c.crawl, c.blob, mark)
		waits = waits || c.script.repeat != anytime && s.opt.Replicas > 0
	}
	var wait *redis.Cmd
	if waits {
		wait = p.Do(ctx, "wait", s.opt.Replicas, s.opt.waitTimeout.Milliseconds())
	}
	_, _ = p.Exec(ctx) // each command has its own error, see naming
	s.nodes.note(node, cmds)
	covered, loaded := s.covered(node, wait), map[*script]bool{}
	for i, c := range calls {
		c.reply, c.err = cmds[i].Text()
		if c.err == nil && c.script.repeat != anytime {
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
	if err == nil && n < s.opt.Replicas {
		err = fault.As(errShort, "redis server %s: %d of %d replicas have the write after %v; check its replicas and its load",
			node.Options().Addr, n, s.opt.Replicas, s.opt.waitTimeout)
	}
	return err
}

// verdict is the action for a failed call; a larger one is worse.
type verdict int

const (
	retry  verdict = iota // send it again
	short                 // again: the replicas were slow. Its leases run, so a take does not wait
	reload                // again, after reloading the map of slots
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
		c.err = fault.As(store.ErrUnavailable, "cannot use shard %s: %w", s.layout.name(c.shard), c.err)
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
			if err := c.script.redis().Load(ctx, node).Err(); err != nil {
				c.err = err
				return s.classify(ctx, node, c, loaded)
			}
		}
		return retry
	case "BUSY":
		return retry
	case "EMPTIED":
		c.err = &serverError{node.Options().Addr, s.emptied(c.shard)}
		return fatal
	}
	c.err = fmt.Errorf("cannot run %s on shard %s: %w", c.script.name, s.layout.name(c.shard), c.err)
	return fatal
}

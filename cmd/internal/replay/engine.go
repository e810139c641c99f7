package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/store"
)

// Options configure a replay.
type Options struct {
	// Profile canonicalizes. The default is canon.Qiita.
	Profile *canon.Profile
	// Store records the keys. It must be set.
	Store store.Store
	// Crawl is the crawl in the store. The default is the store's default crawl.
	Crawl string
	// Workers is the number of goroutines that hash and canonicalize. The default
	// is the number of processors.
	Workers int
	// ExactBudget bounds the memory of the exact table, in bytes. The default is 512 MiB.
	ExactBudget int64
	// TempDir is where hashes beyond the budget go. The default is os.TempDir.
	TempDir string
	// ByRule measures what each rule does, on a sample of at most 24 MiB of the
	// distinct variants. The default is false.
	ByRule bool
	// Counters are updated while the replay runs. The default is none.
	Counters *Counters
}

// Counters count a running replay; any goroutine may read them.
type Counters struct {
	URLs, Exact, Unique atomic.Int64
}

// lookAhead is how many batches of each input may wait for their turn.
const lookAhead = 24

// seeBatch is how many keys go to the store at once. A sync is paid once a batch.
const seeBatch = 16 << 10

type engine struct {
	opt   Options
	hash  uniq.Hasher
	rules *variants

	// Of the exact table's stage.
	exact  *table
	count  column[uint32] // events of a spelling after its first
	bytes  column[int64]  // of repeats, where the log has sizes
	failed []InputError

	tasks chan func()
	done  chan struct{} // closed when no more tasks are needed
	tally *tally
	ahead context.Context // ends when the inputs are to stop
	stop  context.CancelCauseFunc
}

// Run replays the inputs one after another, each in its order, and returns the counts. When ctx
// ends, or the store fails, it stops reading; the result then covers the URLs that were read and
// stored before, and the error is that of the store. Inputs that cannot be read are listed in the
// result, and the other inputs are read.
func Run(ctx context.Context, inputs []logs.Input, opt Options) (*Result, error) {
	e, err := newEngine(ctx, inputs, opt)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	toTally := make(chan *batch, e.opt.Workers+2)
	var workers, last sync.WaitGroup
	for range e.opt.Workers {
		workers.Go(e.work)
	}
	last.Go(func() { e.tally.run(toTally) })
	e.dispatch(inputs, toTally)
	close(toTally)
	last.Wait()
	close(e.done)
	workers.Wait()
	e.stop(nil)
	result, err := e.tally.result(e)
	if err != nil {
		err = fmt.Errorf("cannot finish the replay: %w", err)
	}
	result.Seconds = time.Since(start).Seconds()
	result.Interrupted = ctx.Err() != nil
	return result, err
}

func (o Options) profile() *canon.Profile {
	if o.Profile == nil {
		return canon.Qiita()
	}
	return o.Profile
}

func newEngine(ctx context.Context, inputs []logs.Input, opt Options) (*engine, error) {
	if opt.Store == nil {
		return nil, errors.New("cannot replay; got no store; want one")
	}
	opt.Profile = opt.profile()
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.ExactBudget <= 0 {
		opt.ExactBudget = 512 << 20
	}
	if opt.Counters == nil {
		opt.Counters = &Counters{}
	}
	e := &engine{opt: opt, hash: uniq.NewHasher(), exact: newTable(opt.ExactBudget), tasks: make(chan func(), opt.Workers), done: make(chan struct{})}
	e.ahead, e.stop = context.WithCancelCause(ctx)
	var err error
	if opt.ByRule {
		if e.rules, err = newVariants(opt.Profile); err != nil {
			return nil, err
		}
	}
	e.tally, err = newTally(ctx, inputs, opt, e.stop)
	return e, err
}

// work carries out tasks, which never wait for anything.
func (e *engine) work() {
	for {
		select {
		case task := <-e.tasks:
			task()
		case <-e.done:
			return
		}
	}
}

// dispatch brings the inputs' batches in order and takes them through the exact
// table. A few inputs are opened ahead, so that a small one doesn't wait for its
// decompression.
func (e *engine) dispatch(inputs []logs.Input, toTally chan<- *batch) {
	queues := make([]chan *batch, len(inputs))
	errs := make([]error, len(inputs))
	opened := 0
	var groups *canon.Profile
	if e.rules != nil {
		groups = e.rules.all
	}
	for i := range inputs {
		for ; opened < len(inputs) && opened <= i+e.opt.Workers; opened++ {
			queues[opened] = make(chan *batch, lookAhead)
			go e.read(inputs[opened], opened, queues[opened], &errs[opened])
		}
		for b, ok := e.next(queues[i]); ok; b, ok = e.next(queues[i]) {
			<-b.ready
			e.lookUp(b)
			b.ready = make(chan struct{})
			e.tasks <- func() { b.canonicalize(e.opt.Profile, groups); close(b.ready) }
			toTally <- b
		}
		if e.ahead.Err() != nil {
			return
		}
		if errs[i] != nil { // the queue's end makes it visible
			e.failed = append(e.failed, InputError{Input: inputs[i].Name, Message: errs[i].Error(), err: errs[i]})
		}
	}
}

// next waits for a batch. When the replay is to stop, it returns those that are there,
// but doesn't wait for an input that may be silent for long.
func (e *engine) next(queue <-chan *batch) (b *batch, ok bool) {
	select {
	case b, ok = <-queue:
		return b, ok
	case <-e.ahead.Done():
	}
	select { // of two that are ready, the first may have taken either
	case b, ok = <-queue:
	default:
	}
	return b, ok
}

// read produces an input's batches until it ends or the replay is to stop.
func (e *engine) read(in logs.Input, number int, queue chan<- *batch, failure *error) {
	defer close(queue)
	if e.ahead.Err() != nil {
		return
	}
	for read, err := range in.Open() {
		if err != nil {
			*failure = err
			return
		}
		b := &batch{Batch: read, number: number, ready: make(chan struct{})}
		select {
		case e.tasks <- func() { b.prepare(e.hash); close(b.ready) }:
		case <-e.ahead.Done():
			return
		}
		select {
		case queue <- b:
		case <-e.ahead.Done():
			return
		}
	}
}

// lookUp takes a batch through the exact table.
func (e *engine) lookUp(b *batch) {
	b.ordinals = make([]uint32, len(b.events))
	for i, s := range b.sums {
		ordinal, fresh := e.exact.number(s)
		b.ordinals[i] = ordinal
		if fresh || ordinal == noOrdinal {
			b.found = append(b.found, found{event: uint32(i)})
			continue
		}
		b.exact++
		*e.count.at(ordinal)++
		if size := b.events[i].Size; size > 0 {
			*e.bytes.at(ordinal) += size
		}
	}
	e.opt.Counters.URLs.Add(int64(len(b.events)))
	e.opt.Counters.Exact.Add(b.exact)
}

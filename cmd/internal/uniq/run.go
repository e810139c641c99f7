package uniq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/store"
)

// Options say what is passed on.
type Options struct {
	// Identify appends what a line is compared by, or returns why the line is no URL.
	// It is called by several goroutines at once.
	Identify func(dst, raw []byte) ([]byte, error)
	// KeepInvalid passes lines through that are no URL. The default is to drop them.
	KeepInvalid bool
	// End is written after each URL. The default is NUL.
	End byte
	// Against are inputs whose URLs are not printed; with Common only theirs are.
	Against []replay.Input
	// AgainstKeys are keys of such URLs.
	AgainstKeys []iter.Seq2[store.Key, error]
	Common      bool
	// Memory knows the URLs of earlier runs, which are not printed, and gets those of
	// this one. The default is none.
	Memory *Memory
	// Workers is the number of goroutines that canonicalize. The default is the
	// number of processors.
	Workers int
}

// keyed reports whether lines are compared by the keys of stores and key files.
func (o *Options) keyed() bool { return o.Memory != nil || len(o.AgainstKeys) > 0 }

// compares reports whether there is something to compare the inputs with.
func (o *Options) compares() bool { return len(o.Against)+len(o.AgainstKeys) > 0 }

// Result counts what became of the input.
type Result struct {
	URLs       int64 // lines and records that may hold a URL
	Printed    int64 // passed on, Kept not among them
	Duplicates int64 // seen before in this run
	Known      int64 // left out because of Against or Memory
	Refused    int64 // no URL
	Kept       int64 // of Refused, passed through
	Unreadable int64 // lines and records of a log that its format does not explain
	// Errors are of inputs that could not be read to their end.
	Errors []error
}

// errStop ends the readers after the output failed.
var errStop = errors.New("output failed")

// Run reads the inputs one after another and writes each URL of theirs the first time it
// is seen. It ends with the inputs, with ctx, or with the first error of w.
func Run(ctx context.Context, inputs []replay.Input, w io.Writer, opt Options) (Result, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &runner{opt: &opt, out: w, hash: newHasher(), spell: newHasher()}
	err := r.run(ctx, inputs)
	if err != nil {
		stop(errStop)
	}
	return r.result, err
}

type runner struct {
	opt         *Options
	hash, spell hasher
	out         io.Writer
	buf         []byte
	seen        set
	against     set
	pending     []printed // what Memory doesn't have yet
	result      Result
}

// outBytes is how much output is written at once.
const outBytes = 256 << 10

func (r *runner) run(ctx context.Context, inputs []replay.Input) error {
	if err := r.readAgainst(ctx); err != nil {
		return err
	}
	queue, errs := r.read(ctx, inputs)
	for b := range queue {
		<-b.ready
		err := r.take(ctx, b)
		b.Release()
		if err != nil {
			return errors.Join(err, r.flush(ctx))
		}
		if len(r.buf) >= outBytes || len(queue) == 0 {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	r.result.Errors = *errs // the queue's end makes them visible
	return r.flush(ctx)
}

// read starts the workers and the reader. The queue has the batches in order; each is
// ready when its worker says so.
func (r *runner) read(ctx context.Context, inputs []replay.Input) (<-chan *batch, *[]error) {
	queue := make(chan *batch, 4*r.opt.Workers)
	tasks := make(chan *batch, r.opt.Workers)
	for range r.opt.Workers {
		w := &worker{opt: r.opt, hash: r.hash, spell: r.spell, recent: newRecent()}
		go func() {
			for b := range tasks {
				w.work(b)
			}
		}()
	}
	errs := new([]error)
	go func() {
		defer close(queue)
		defer close(tasks)
		for _, in := range inputs {
			for b, err := range in.Open() {
				if err != nil {
					*errs = append(*errs, err)
					break
				}
				next := &batch{Batch: b, ready: make(chan struct{})}
				tasks <- next // workers never wait
				select {
				case queue <- next:
				case <-ctx.Done():
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
		}
	}()
	return queue, errs
}

// readAgainst reads what the inputs are compared with. All of it, or nothing is printed.
func (r *runner) readAgainst(ctx context.Context) error {
	for _, keys := range r.opt.AgainstKeys {
		for key, err := range keys {
			if err != nil {
				return err
			}
			r.against.add(r.hash.sum(key[:]))
		}
	}
	if len(r.opt.Against) == 0 {
		return nil
	}
	queue, errs := r.read(ctx, r.opt.Against)
	for b := range queue {
		<-b.ready
		for i := range b.lines {
			if l := &b.lines[i]; !l.refused {
				r.against.add(l.sum)
			}
		}
		b.Release()
	}
	return errors.Join(append(*errs, ctx.Err())...)
}

// take decides about the lines of a batch, in order.
func (r *runner) take(ctx context.Context, b *batch) error {
	r.result.URLs += b.urls
	r.result.Duplicates += b.recent
	r.result.Refused += b.refused
	r.result.Unreadable += b.BadCount
	for i := range b.lines {
		l := &b.lines[i]
		if l.refused {
			r.result.Kept++
			r.print(b, l)
			continue
		}
		if !r.seen.add(l.sum) {
			r.result.Duplicates++
			continue
		}
		known, err := r.known(ctx, l)
		if err != nil {
			return err
		}
		if known {
			r.result.Known++
			continue
		}
		r.result.Printed++
		r.print(b, l)
		if r.opt.Memory != nil {
			r.pending = append(r.pending, printed{l.key, l.unicode, len(r.buf)})
		}
	}
	return nil
}

// known reports whether a URL that is new in this run is to be left out.
func (r *runner) known(ctx context.Context, l *line) (bool, error) {
	if r.opt.compares() && r.against.has(l.sum) != r.opt.Common {
		return true, nil
	}
	if r.opt.Memory == nil {
		return false, nil
	}
	return r.opt.Memory.has(ctx, l.key)
}

func (r *runner) print(b *batch, l *line) {
	r.buf = append(append(r.buf, b.Text[l.start:l.end]...), r.opt.End)
}

// flush writes what is printed, and then records what was written: after a kill between the
// two a line is printed again, and none is lost.
func (r *runner) flush(ctx context.Context) error {
	if len(r.buf) == 0 {
		return nil
	}
	n, err := r.out.Write(r.buf)
	if err != nil {
		err = fmt.Errorf("cannot write output: %w", err)
	}
	if r.opt.Memory != nil {
		err = errors.Join(err, r.opt.Memory.record(ctx, r.pending, n))
		r.pending = r.pending[:0]
	}
	r.buf = r.buf[:0]
	return err
}

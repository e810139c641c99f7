package uniq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/firstseen/firstseen/cmd/internal/replay"
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
	// Workers is the number of goroutines that canonicalize. The default is the
	// number of processors.
	Workers int
}

// Result counts what became of the input.
type Result struct {
	URLs       int64 // lines and records that may hold a URL
	Printed    int64 // passed on, Kept not among them
	Duplicates int64 // seen before in this run
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
		err = fmt.Errorf("cannot write output: %w", err)
	}
	return r.result, err
}

type runner struct {
	opt         *Options
	hash, spell hasher
	out         io.Writer
	buf         []byte
	seen        set
	result      Result
}

// outBytes is how much output is written at once.
const outBytes = 256 << 10

func (r *runner) run(ctx context.Context, inputs []replay.Input) error {
	queue, errs := r.read(ctx, inputs)
	for b := range queue {
		<-b.ready
		r.take(b)
		b.Release()
		if len(r.buf) >= outBytes || len(queue) == 0 {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	r.result.Errors = *errs // the queue's end makes them visible
	return r.flush()
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

// take decides about the lines of a batch, in order.
func (r *runner) take(b *batch) {
	r.result.URLs += b.urls
	r.result.Duplicates += b.recent
	r.result.Refused += b.refused
	r.result.Unreadable += b.BadCount
	for i := range b.lines {
		l := &b.lines[i]
		switch {
		case l.refused:
			r.result.Kept++
		case !r.seen.add(l.sum):
			r.result.Duplicates++
			continue
		default:
			r.result.Printed++
		}
		r.buf = append(append(r.buf, b.Text[l.start:l.end]...), r.opt.End)
	}
}

func (r *runner) flush() error {
	if len(r.buf) == 0 {
		return nil
	}
	_, err := r.out.Write(r.buf)
	r.buf = r.buf[:0]
	return err
}

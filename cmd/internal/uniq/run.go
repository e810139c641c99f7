package uniq

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"iter"
	"runtime"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// Options choose the lines that are passed on.
type Options struct {
	// Identify appends what a line is compared by, or returns why the line is no URL.
	// It is called by several goroutines at once.
	Identify func(dst, raw []byte) ([]byte, error)
	// Group appends what the lines that stand for each other have in common, such as a
	// host, to dst; form is of Identify. The default is form itself.
	Group func(dst, form []byte) []byte
	// Keep is how many lines of a group are passed on. The default is 1.
	Keep int
	// Choose passes on one line of a group when the input has ended: the first or the last by the first of its Fields, as numbers or as
	// times, and by their order where that is the same or all have none. The default is to pass the first line on when it is read.
	Choose Choice
	// ChooseBy is what messages call that field: it is an error if no line of the input has one that can be compared. The default is that lines need none.
	ChooseBy string
	// Sort passes lines on when the input has ended, in the order of what it appends. The default is that of the input.
	Sort func(dst, form []byte) []byte
	// Status keeps the records of logs whose status it takes, 0 where the log has none; a line of a list has none. The default is to
	// keep all.
	Status func(status int) bool
	// Filters take lines out, each what the earlier ones left.
	Filters []Filter
	// KeepInvalid passes lines through that are no URL, each once. The default is to drop them.
	KeepInvalid bool
	// Refused gets an object in JSON of each line and record that has no URL that can be used, with the reason in full. The
	// inputs must be read with logs.Options.Refused, too. The default is none.
	Refused io.Writer
	// Against are inputs whose groups are not printed; with Common only theirs are.
	Against []logs.Input
	// AgainstKeys are keys of such URLs.
	AgainstKeys []iter.Seq2[store.Key, error]
	Common      bool
	// Memory knows the URLs of earlier runs, which are not printed, and gets those of
	// this one. The default is none.
	Memory *Memory
	// MemoryBytes bounds the memory of the sets; beyond it further keys go to a temporary
	// store in TempDir. The default is no bound, and the system's directory.
	MemoryBytes int64
	TempDir     string
	// Workers is the number of goroutines that canonicalize. The default is the
	// number of processors.
	Workers int
	Output
}

// A Choice is which line of a group is passed on.
type Choice int

// The choices.
const (
	FirstRead Choice = iota
	First
	Last
)

// A Filter reports whether a line stays, by its text and what Identify made of it. It is called by several goroutines at once.
type Filter func(raw, form []byte) bool

// keyed reports whether lines are compared by the keys of stores and key files.
func (o *Options) keyed() bool { return o.Memory != nil || len(o.AgainstKeys) > 0 }

// compares reports whether there is something to compare the inputs with.
func (o *Options) compares() bool { return len(o.Against)+len(o.AgainstKeys) > 0 }

// Result counts what became of the input.
type Result struct {
	URLs       int64   // lines and records that may hold a URL
	Printed    int64   // passed on and written whole, Kept not among them
	Duplicates int64   // seen before in this run
	Known      int64   // left out because of Against or Memory
	Refused    int64   // no URL
	Kept       int64   // of Refused, passed through
	ByStatus   int64   // taken out by Options.Status
	Filtered   []int64 // taken out by each of Options.Filters
	Unordered  int64   // without what Options.ChooseBy compares, or not comparable with the others
	Unreadable int64   // lines and records of a log that its format does not explain
	Spilled    bool    // the memory did not suffice: a temporary store was used
	Inputs     []InputCounts
	// Errors are of inputs that could not be read to their end.
	Errors []error
}

// Unprinted is what was read and is none of the rest, because the run failed or its output ended; -d, which leaves first URLs out, has no such number.
func (r *Result) Unprinted() int64 {
	rest := r.URLs - r.Printed - r.Duplicates - r.Known - r.Refused - r.ByStatus
	for _, n := range r.Filtered {
		rest -= n
	}
	return rest
}

// InputCounts are the counts of one input.
type InputCounts struct {
	Name    string
	Whole   bool // read to its end, and all of it passed on and recorded
	Units   logs.Counts
	URLs    int64
	NoURLs  int64            // of them, those that were refused
	Refused int64            // NoURLs, and units that could not be read
	Why     map[string]int64 // the reasons, which add up to Refused
	// Examples are the first that were refused, with the reason.
	Examples []string
}

// errStop ends the readers after the output failed.
var errStop = errors.New("output failed")

// Run reads the inputs one after another and writes each URL of theirs the first time it
// is seen. It ends with the inputs, with ctx, or with the first error of w.
func Run(ctx context.Context, inputs []logs.Input, w io.Writer, opt Options) (Result, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := newRunner(&opt, w)
	r.result.Inputs = make([]InputCounts, len(inputs))
	for i := range inputs {
		r.result.Inputs[i].Name = inputs[i].Name
	}
	err := r.run(ctx, inputs)
	if err != nil {
		stop(errStop)
		for i := range r.result.Inputs {
			r.result.Inputs[i].Whole = false
		}
	}
	r.result.Spilled = r.space.Spilled() || r.ledger != nil && r.ledger.rest.lines > 0
	return r.result, errors.Join(err, r.ledger.close(), r.chosen.close(), r.sorter.close(), r.unrecorded.close(), r.space.Close())
}

type runner struct {
	opt   *Options
	hash  Hasher
	texts maphash.Seed // of recent texts
	printer
	space   Space
	seen    *Set
	against *Set
	groups  map[Sum]int // printed, where more than one is
	ledger  *ledger     // where first URLs are asked for
	chosen  *rest       // where Options.Choose waits for the end
	ordered ordered     // the fields by which they are chosen
	sorter  *sorter     // where Options.Sort does
	pending []printed   // what is not written or recorded yet
	result  Result

	// unrecorded has the keys of a table that is not whole yet: if it is never whole, its URLs were not printed.
	unrecorded *spool

	// Of one batch: its lines, and their sums, keys and answers.
	lines []*line
	sums  []Sum
	keys  []store.Key
	yes   []bool
}

func newRunner(opt *Options, w io.Writer) *runner {
	r := &runner{opt: opt, hash: NewHasher(), texts: maphash.MakeSeed(), printer: newPrinter(&opt.Output, w)}
	r.space = Space{Dir: opt.TempDir, Budget: opt.MemoryBytes}
	r.seen = r.space.New("seen")
	r.against = r.space.New("against")
	if opt.Keep > 1 {
		r.groups = map[Sum]int{}
	}
	if opt.Count || opt.Duplicates {
		r.ledger = newLedger(&r.space)
	}
	if opt.Choose != FirstRead {
		r.chosen = &rest{dir: opt.TempDir}
	}
	if opt.Sort != nil {
		budget := opt.MemoryBytes / 4
		if budget <= 0 || budget > mostSorted {
			budget = mostSorted
		}
		r.space.Budget = max(r.space.Budget-budget, min(r.space.Budget, 1))
		r.sorter = &sorter{dir: opt.TempDir, budget: budget}
	}
	r.result.Filtered = make([]int64, len(opt.Filters))
	return r
}

func (r *runner) run(ctx context.Context, inputs []logs.Input) error {
	if err := r.readAgainst(ctx); err != nil {
		return err
	}
	whole := make([]bool, len(inputs))
	queue, errs := r.read(ctx, inputs, r.opt.Status, func(i int, is bool) { whole[i] = is })
	for b := range queue {
		<-b.ready
		err := r.take(ctx, b)
		b.release()
		if err != nil {
			return errors.Join(err, r.flush(ctx))
		}
		if r.full() || len(queue) == 0 {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	for i := range whole {
		r.result.Inputs[i].Whole = whole[i]
	}
	r.result.Errors = *errs // the queue's end makes them visible
	err := r.settle(ctx)
	if err == nil {
		r.end()
	}
	return errors.Join(err, r.flush(ctx))
}

// read starts the workers and the reader. The queue has the batches in order; each is
// ready when its worker closed the channel.
// whole is called with whether each input was read to its end; it may be nil.
func (r *runner) read(ctx context.Context, inputs []logs.Input, status func(int) bool, whole func(input int, is bool)) (<-chan *batch, *[]error) {
	queue := make(chan *batch, 4*r.opt.Workers)
	tasks := make(chan *batch, r.opt.Workers)
	opt := *r.opt
	opt.Status = status // all of what is compared with counts
	for range opt.Workers {
		w := &worker{opt: &opt, hash: r.hash}
		if r.ledger == nil && r.chosen == nil && status == nil { // which look at repeats
			w.recent = newRecent(r.texts)
		}
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
		for i, in := range inputs {
			failed := false
			for b, err := range in.Open() {
				if failed = err != nil; failed {
					*errs = append(*errs, err)
					break
				}
				next := newBatch(b, i)
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
			if whole != nil {
				whole(i, !failed)
			}
		}
	}()
	return queue, errs
}

// readAgainst reads what the inputs are compared with. All of it, or nothing is printed.
func (r *runner) readAgainst(ctx context.Context) error {
	for _, list := range r.opt.AgainstKeys {
		if err := r.readKeys(ctx, list); err != nil {
			return err
		}
	}
	if len(r.opt.Against) == 0 {
		return nil
	}
	queue, errs := r.read(ctx, r.opt.Against, nil, nil)
	for b := range queue {
		<-b.ready
		r.collect(b)
		err := r.against.Add(ctx, r.sums, r.answers())
		b.release()
		if err != nil {
			return err
		}
	}
	return errors.Join(append(*errs, ctx.Err())...)
}

// readKeys reads the keys of a key file.
func (r *runner) readKeys(ctx context.Context, list iter.Seq2[store.Key, error]) error {
	r.sums = r.sums[:0]
	for key, err := range list {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && len(r.sums) == 1<<14 {
			err = r.against.Add(ctx, r.sums, r.answers())
			r.sums = r.sums[:0]
		}
		if err != nil {
			return err
		}
		r.sums = append(r.sums, r.hash.Sum(key[:]))
	}
	return r.against.Add(ctx, r.sums, r.answers())
}

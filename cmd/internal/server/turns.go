package server

import (
	"context"
	"runtime"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/admit"
)

// The units of work that may be in progress, see admit.Work. A unit takes about 10 µs of a
// processor, so that a call waits about 3 ms for each other client that is busy.
const (
	workAlone, workShared, workTotal = 8192, 256, 4096
	// callUnits is the work of a call that is not for a number of URLs.
	callUnits = 32
	// workRest is how long a client with a backlog rests for each unit while other clients work,
	// on a machine with one processor: with what the unit takes, half of the processor is left.
	workRest = 20 * time.Microsecond
)

func newWork() *admit.Work {
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	return admit.NewWork(admit.WorkBounds{Alone: workAlone, Shared: workShared, Total: workTotal,
		Rest: workRest / time.Duration(processors)})
}

type turnKey struct{}

// turn blocks until the client of a call may begin some of n units of work, and returns how
// many, and the context for that work, within which further work needs no turn. The caller
// must call end.
func (s *gate) turn(ctx context.Context, n int) (inside context.Context, got int, end func(), err error) {
	if ctx.Value(turnKey{}) != nil {
		return ctx, n, func() {}, nil
	}
	client := clientOf(ctx)
	if got, err = s.admission.work.Begin(ctx, client, n); err != nil {
		return nil, 0, nil, context.Cause(ctx)
	}
	return context.WithValue(ctx, turnKey{}, true), got, func() { s.admission.work.End(client, got) }, nil
}

// inTurn does something that is as much work as n URLs in a turn.
func (s *gate) inTurn(ctx context.Context, n int, do func(context.Context) error) error {
	inside, _, end, err := s.turn(ctx, n)
	if err != nil {
		return err
	}
	defer end()
	return do(inside)
}

// inTurns does something to items, to some of them in each turn, and returns all results. After
// an error it returns the results of the turns before.
func inTurns[T, R any](ctx context.Context, s *gate, items []T, do func(context.Context, []T) ([]R, error)) (results []R, err error) {
	for done := 0; done < len(items); {
		some, n, err := oneTurn(ctx, s, items[done:], do)
		if err != nil {
			return results, err
		}
		if results == nil {
			results = some
		} else {
			results = append(results, some...)
		}
		done += n
	}
	return results, nil
}

// oneTurn is one turn of inTurns, and returns to how many items something was done.
func oneTurn[T, R any](ctx context.Context, s *gate, items []T, do func(context.Context, []T) ([]R, error)) ([]R, int, error) {
	if ctx.Value(turnKey{}) == nil {
		if err := s.rest(ctx); err != nil {
			return nil, 0, err
		}
	}
	inside, n, end, err := s.turn(ctx, len(items))
	if err != nil {
		return nil, 0, err
	}
	defer end()
	results, err := do(inside, items[:n])
	return results, n, err
}

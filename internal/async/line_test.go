package async

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

var errClosed, errFailed = errors.New("closed"), errors.New("failed")

// owner counts its calls.
type owner struct {
	served, joined, ended int
	left                  []int
}

func (o *owner) Serve() { o.served++ }
func (o *owner) Left(waiting int) {
	o.left = append(o.left, waiting)
}

func (o *owner) Joined(ends bool) {
	o.joined++
	if ends {
		o.ended++
	}
}

// got is what a caller got in the end.
type got struct {
	n   int
	err error
}

// join has a caller wait for one thing in a goroutine of its own.
func join(ctx context.Context, l *Line[int], o *owner, closing chan struct{}, ends bool) chan got {
	c := make(chan got, 1)
	go func() {
		things, err := l.Wait(ctx, closing, errClosed, o, 1, ends)
		g := got{err: err}
		if len(things) > 0 {
			g.n = things[0]
		}
		c <- g
	}()
	synctest.Wait()
	return c
}

// joinFor has a caller wait for up to max things.
func joinFor(t *testing.T, l *Line[int], o *owner, max int) chan []int {
	c := make(chan []int, 1)
	go func() {
		things, err := l.Wait(t.Context(), nil, errClosed, o, max, false)
		if err != nil {
			t.Error(err)
		}
		c <- things
	}()
	synctest.Wait()
	return c
}

func TestCallersGetUpToWhatTheyWant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line[int]
		var o owner
		a, b, c := joinFor(t, &l, &o, 3), joinFor(t, &l, &o, 2), joinFor(t, &l, &o, MaxTogether)
		if n := l.Begin(func(bool) {}); n != 5 {
			t.Errorf("got %d to get; want 5, for as many callers as fit into %d", n, MaxTogether)
		}
		if left := l.Hand([]int{1, 2, 3, 4}); len(left) != 0 {
			t.Errorf("got %v left; want none", left)
		}
		if x, y := <-a, <-b; !slices.Equal(x, []int{1, 2, 3}) || !slices.Equal(y, []int{4}) {
			t.Errorf("got %v and %v; want three for the first, and what there was for the second", x, y)
		}
		if n := l.Begin(func(bool) {}); n != MaxTogether {
			t.Errorf("got %d to get; want all that one caller wants", n)
		}
		l.Hand([]int{5})
		<-c
	})
}

func TestAloneServesOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Line[int]{Alone: true}
		var o owner
		a, b := joinFor(t, &l, &o, 3), joinFor(t, &l, &o, 2)
		if n := l.Begin(func(bool) {}); n != 3 {
			t.Errorf("got %d to get; want what the first caller wants", n)
		}
		if left := l.Hand([]int{1, 2, 3, 4}); !slices.Equal(left, []int{4}) || !slices.Equal(<-a, []int{1, 2, 3}) {
			t.Errorf("got %v left; want the second caller to have waited on", left)
		}
		l.Hand([]int{4})
		<-b
	})
}

func TestFirstInLineIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line[int]
		var o owner
		a, b := join(t.Context(), &l, &o, nil, false), join(t.Context(), &l, &o, nil, true)
		if o.served != 1 || o.joined != 1 || o.ended != 1 {
			t.Errorf("got %+v; want one goroutine started, and told of the second caller", o)
		}
		if n := l.Begin(func(bool) {}); n != 2 {
			t.Errorf("got %d who wait; want 2", n)
		}
		if left := l.Hand([]int{7}); len(left) != 0 || <-a != (got{7, nil}) {
			t.Errorf("got %v left; want the first caller served", left)
		}
		if left := l.Hand([]int{8, 9}); len(left) != 1 || left[0] != 9 || <-b != (got{8, nil}) {
			t.Errorf("got %v left; want what nobody waits for", left)
		}
		if n := l.Begin(func(bool) {}); n != 0 {
			t.Errorf("got %d who wait; want nobody", n)
		}
		c := join(t.Context(), &l, &o, nil, false)
		if o.served != 2 {
			t.Errorf("got %d goroutines started; want another after the first ended", o.served)
		}
		l.Fail(errFailed)
		if g := <-c; !errors.Is(g.err, errFailed) {
			t.Errorf("got %v; want what the line failed by", g.err)
		}
	})
}

func TestTheEndIsToldToThoseWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line[int]
		var o owner
		stays, ends := join(t.Context(), &l, &o, nil, false), join(t.Context(), &l, &o, nil, true)
		l.Finish(ErrFinished)
		if g := <-ends; !errors.Is(g.err, ErrFinished) {
			t.Errorf("got %v; want ErrFinished", g.err)
		}
		l.Hand([]int{1})
		if g := <-stays; g != (got{1, nil}) {
			t.Errorf("got %v; want the other to have waited on", g)
		}
	})
}

// TestBeginKnowsWhoAsksForTheEnd lets a caller join after earlier callers got the end, and before
// the next Begin.
func TestBeginKnowsWhoAsksForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line[int]
		var o owner
		asked := func() (ends bool) {
			l.Begin(func(e bool) { ends = e })
			return ends
		}
		stays := join(t.Context(), &l, &o, nil, false)
		if asked() {
			t.Error("got somebody who asks for the end; want nobody")
		}
		l.Finish(ErrFinished)
		late := join(t.Context(), &l, &o, nil, true)
		if !asked() {
			t.Error("got nobody who asks for the end; want the one who came late")
		}
		l.Finish(ErrFinished)
		if g := <-late; !errors.Is(g.err, ErrFinished) || asked() {
			t.Errorf("got %v; want ErrFinished, and nobody who asks any more", g.err)
		}
		l.Fail(errClosed)
		<-stays
	})
}

func TestWhoGoesAwayLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line[int]
		var o owner
		ctx, cancel := context.WithCancel(t.Context())
		closing := make(chan struct{})
		a, b := join(ctx, &l, &o, closing, false), join(t.Context(), &l, &o, closing, false)
		cancel()
		if g := <-a; !errors.Is(g.err, context.Canceled) {
			t.Errorf("got %v; want the context's error", g.err)
		}
		close(closing)
		if g := <-b; !errors.Is(g.err, errClosed) {
			t.Errorf("got %v; want ErrClosed", g.err)
		}
		if len(o.left) != 2 || o.left[0] != 1 || o.left[1] != 0 {
			t.Errorf("got %v who still waited; want 1, then 0", o.left)
		}
		if left := l.Hand([]int{1}); len(left) != 1 {
			t.Errorf("got %v left; want all of it", left)
		}
		if _, err := l.Wait(ctx, nil, errClosed, &o, 1, false); !errors.Is(err, context.Canceled) || o.served != 1 {
			t.Errorf("got %v, %d goroutines; want a context that is over to join no line", err, o.served)
		}
	})
}

func TestAllEndsQuietlyAtTheEnd(t *testing.T) {
	answers := []got{{1, nil}, {2, nil}, {0, ErrFinished}}
	var seen []int
	for n, err := range All(func() (int, error) {
		a := answers[0]
		answers = answers[1:]
		return a.n, a.err
	}) {
		if err != nil {
			t.Errorf("got %v; want no error at the end", err)
		}
		seen = append(seen, n)
	}
	if len(seen) != 2 {
		t.Errorf("got %v; want both", seen)
	}
	for _, err := range All(func() (int, error) { return 0, errFailed }) {
		if !errors.Is(err, errFailed) {
			t.Errorf("got %v; want the error", err)
		}
	}
}

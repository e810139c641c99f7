package redisstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

func TestNodesThatBeatAreListed(t *testing.T) {
	at := clockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := testOptions(sharedServer(t), 8)
	o.clock = at.now
	a, b := open(t, o), open(t, o)
	defer closeAll(t, a, b)
	want := func(got []string, err error, names ...string) {
		t.Helper()
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("got %v, %v; want %v", got, err, names)
		}
	}
	got, err := b.Beat(t.Context(), "b:7071")
	want(got, err, "b:7071")
	at.step(10 * time.Second)
	got, err = a.Beat(t.Context(), "a:7071")
	want(got, err, "a:7071", "b:7071")
	at.step(10 * time.Second)
	got, err = a.Beat(t.Context(), "a:7071") // b was silent for 20 s
	want(got, err, "a:7071")
	got, err = b.Beat(t.Context(), "b:7071")
	want(got, err, "a:7071", "b:7071")
	if err := b.Leave(t.Context(), "b:7071"); err != nil {
		t.Error(err)
	}
	got, err = a.Beat(t.Context(), "a:7071")
	want(got, err, "a:7071")
	for _, name := range []string{"", strings.Repeat("a", 256)} {
		if _, err := a.Beat(t.Context(), name); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a name of %d bytes: %v; want ErrInvalid", len(name), err)
		}
	}
}

func closeAll(t *testing.T, stores ...*Store) {
	t.Helper()
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

package server

import (
	"log/slog"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// TestReadingForgetsNothing: a command that only reads leaves URLs that are excluded to who may forget them, whatever the store.
func TestReadingForgetsNothing(t *testing.T) {
	s := memstore.New(memstore.Options{})
	if l, err := OpenLocal(t.Context(), s, nil, true, slog.Default()); err != nil || l.Close(t.Context()) != nil || s.Identity() != (store.Identity{}) {
		t.Errorf("got %v, %v of a new store; want it left without an identity", s.Identity(), err)
	}
	f, err := frontier.New(s, frontier.Options{Profile: canon.Qiita()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add(t.Context(), "http://b.example/x/1"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := frontier.StoredCrawls(t.Context(), s)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := list[0].Set(t.Context(), s, store.Scope{Rules: [][]byte{[]byte("b.example")}}); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLocal(t.Context(), s, nil, true, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Stats(t.Context(), "*"); err != nil || st.Seen != 1 {
		t.Errorf("got %+v, %v; want one URL seen", st, err)
	}
}

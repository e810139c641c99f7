package storetest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// sameEntry returns an error naming the first difference.
func sameEntry(got, want store.Entry) error {
	switch {
	case got.Key != want.Key:
		return fmt.Errorf("got key %x; want %x", got.Key[:4], want.Key[:4])
	case got.State != want.State:
		return fmt.Errorf("got state %d of %x; want %d", got.State, got.Key[:4], want.State)
	case got.Crawl != want.Crawl || got.Queue != want.Queue:
		return fmt.Errorf("got %x in %q %q; want %q %q", got.Key[:4], got.Crawl, got.Queue, want.Crawl, want.Queue)
	case got.State == store.SeenOnly:
		return nil
	case got.URL != want.URL || !bytes.Equal(got.Meta, want.Meta):
		return fmt.Errorf("got text %q %q of %x; want %q %q", got.URL, got.Meta, got.Key[:4], want.URL, want.Meta)
	case got.Priority != want.Priority || got.Attempts != want.Attempts || got.Respelled != want.Respelled:
		return fmt.Errorf("got priority %d attempts %d respelled %v of %x; want %d %d %v",
			got.Priority, got.Attempts, got.Respelled, got.Key[:4], want.Priority, want.Attempts, want.Respelled)
	}
	if got.Client != want.Client || got.Token != want.Token {
		return fmt.Errorf("got client %q, token %d of %x; want %q, %d", got.Client, got.Token, got.Key[:4], want.Client, want.Token)
	}
	if want.Expires.Before(want.Leased) { // by an extension that ends it: it is over, and pebblestore keeps no time
		got.Leased, want.Leased = time.Time{}, time.Time{}
	}
	return sameTimes(times{"leased", got.Leased, want.Leased},
		times{"due", got.Due, want.Due}, times{"created", got.Created, want.Created}, times{"expires", got.Expires, want.Expires}, times{"ended", got.Ended, want.Ended})
}

type times struct {
	what      string
	got, want time.Time
}

func sameTimes(list ...times) error {
	for _, t := range list {
		if !t.got.Equal(t.want) {
			return fmt.Errorf("got %s %v; want %v", t.what, t.got, t.want)
		}
	}
	return nil
}

// sameInfo returns an error naming the first difference.
func sameInfo(got, want store.QueueInfo) error {
	if err := sameTimes(times{"last take", got.LastTake, want.LastTake}, times{"not before", got.NotBefore, want.NotBefore}, times{"next", got.Next, want.Next}, times{"not before of the group", got.GroupNotBefore, want.GroupNotBefore},
		times{"blocked until", got.BlockedUntil, want.BlockedUntil}); err != nil {
		return fmt.Errorf("queue %q: %w", got.Name, err)
	}
	want.LastTake, want.NotBefore, want.Next, want.GroupNotBefore, want.BlockedUntil = got.LastTake, got.NotBefore, got.Next, got.GroupNotBefore, got.BlockedUntil
	if got != want {
		return fmt.Errorf("got queue %+v; want %+v", got, want)
	}
	return nil
}

// sameList compares two lists.
func sameList[T any](got, want []T, same func(got, want T) error) error {
	for i := range min(len(got), len(want)) {
		if err := same(got[i], want[i]); err != nil {
			return fmt.Errorf("number %d of a list: %w", i, err)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("got a list of %d; want %d", len(got), len(want))
	}
	return nil
}

func sameValue[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v; want %v", got, want)
	}
	return nil
}

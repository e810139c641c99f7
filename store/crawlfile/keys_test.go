package crawlfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
)

var testHeader = Header{
	Identity:     store.Identity{Profile: "qiita+strip-www", Version: 2, KeyKind: "url-short-hash", Unicode: "15.0.0"},
	UnicodeHosts: true,
}

func sorted(n int) []store.Key {
	keys := make([]store.Key, n)
	for i := range keys {
		keys[i] = hashkey.SumShort(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	slices.SortFunc(keys, store.Key.Compare)
	return keys
}

func all(keys []store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for _, k := range keys {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func file(t testing.TB, keys []store.Key) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := WriteKeys(&b, testHeader, all(keys)); err != nil || n != int64(len(keys)) {
		t.Fatalf("got %d, %v; want %d", n, err, len(keys))
	}
	return b.Bytes()
}

func read(b []byte) (h Header, keys []store.Key, err error) {
	r, err := NewKeyReader(bytes.NewReader(b))
	if err != nil {
		return h, nil, err
	}
	for k, err := range r.Keys() {
		if err != nil {
			return r.Header(), keys, err
		}
		keys = append(keys, k)
	}
	return r.Header(), keys, nil
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, blockKeys - 1, blockKeys, blockKeys + 1, 3*blockKeys + 7} {
		want := sorted(n)
		h, got, err := read(file(t, want))
		if err != nil || h != testHeader || !slices.Equal(got, want) {
			t.Errorf("%d keys: got %d, %+v, %v", n, len(got), h, err)
		}
	}
}

// TestDamage changes and cuts a file at every byte: no key that was not
// written is handed out, and it is always noticed.
func TestDamage(t *testing.T) {
	want := sorted(20)
	good := file(t, want)
	try := func(name string, b []byte) {
		_, got, err := read(b)
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) {
			t.Errorf("%s: got %v; want ErrCorrupt or ErrFormat", name, err)
		}
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s: got keys that were not written", name)
		}
	}
	for i := range good {
		try(fmt.Sprintf("cut at %d", i), good[:i])
		b := slices.Clone(good)
		b[i] ^= 0x10
		try(fmt.Sprintf("changed at %d", i), b)
	}
	try("more", append(slices.Clone(good), 0))
}

func TestWriteWantsOrder(t *testing.T) {
	keys := sorted(3)
	keys[1], keys[2] = keys[2], keys[1]
	if _, err := WriteKeys(&bytes.Buffer{}, testHeader, all(keys)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v; want ErrInvalid", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(f, sorted(0)))
	f.Add(file(f, sorted(5)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, keys, err := read(b)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := WriteKeys(&out, h, all(keys)); err != nil {
			t.Fatal(err)
		}
		if h2, keys2, err := read(out.Bytes()); err != nil || h2 != h || !slices.Equal(keys, keys2) {
			t.Fatalf("got %+v, %d keys, %v back", h2, len(keys2), err)
		}
	})
}

func ExampleWriteKeys() {
	var b bytes.Buffer
	keys := []store.Key{hashkey.SumShort([]byte("http://example.com/"))}
	if _, err := WriteKeys(&b, Header{Identity: store.Identity{Profile: "qiita", Version: 1}}, all(keys)); err != nil {
		fmt.Println(err)
	}
	r, err := NewKeyReader(&b)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.Header().Identity.Profile)
	for k, err := range r.Keys() {
		fmt.Println(k.Hex(), err)
	}
	// Output:
	// qiita
	// 2a1b402420ef46577471cdc7409b0fa2 <nil>
}

package crawlfile

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// setFile writes a file of n keys, and returns its path, the keys and others.
func setFile(t *testing.T, n int) (path string, keys, others []store.Key) {
	t.Helper()
	for i := range 2 * n {
		k := store.Key{byte(i >> 16), byte(i >> 8), byte(i), 7}
		if i%2 == 0 {
			keys = append(keys, k)
		} else {
			others = append(others, k)
		}
	}
	var b bytes.Buffer
	if _, err := WriteKeys(&b, Header{Identity: store.Identity{Profile: "qiita", Version: 1}}, all(keys)); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, keys, others
}

func TestSet(t *testing.T) {
	for _, n := range []int{0, 1, blockKeys, 3*blockKeys + 5} {
		path, keys, others := setFile(t, n)
		s, err := OpenSet(path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != int64(n) || s.Header().Identity.Profile != "qiita" {
			t.Errorf("got %d keys of %v; want %d of qiita", s.Len(), s.Header(), n)
		}
		known := make([]bool, n)
		if found, err := s.Find(keys, known); found != n || err != nil || slices.Contains(known, false) {
			t.Errorf("found %d of %d keys, %v", found, n, err)
		}
		clear(known)
		if found, err := s.Find(append(others, store.Key{}), append(known, false)); found > 0 || err != nil {
			t.Errorf("found %d keys that are not in the file, %v", found, err)
		}
		s.Close()
	}
}

// TestSetDamage inverts each byte of a file: opening it or looking for keys fails, or all
// answers are right.
func TestSetDamage(t *testing.T) {
	path, keys, others := setFile(t, 20)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		bad := slices.Clone(whole)
		bad[at] ^= 0xff
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := OpenSet(path); err == nil {
			_, err = s.Find(append(slices.Clone(keys), others...), make([]bool, 40))
			if s.Close(); err == nil {
				t.Errorf("byte %d: nothing failed", at)
			}
		}
	}
	for end := range whole {
		if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := OpenSet(path); err == nil {
			s.Close()
			t.Errorf("opened the first %d of %d bytes", end, len(whole))
		}
	}
}

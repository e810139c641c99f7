package seenindex

import "testing"

func TestFilter(t *testing.T) {
	const n = 200_000
	f := NewFilter(n, testSecret())
	for i := range n {
		k := testKey(i)
		f.Add(&k)
	}
	if !f.Full() || f.Bytes() != FilterBytes(n) {
		t.Errorf("got full %v, %d bytes; want true, %d", f.Full(), f.Bytes(), FilterBytes(n))
	}
	perhaps := 0
	for i := range 2 * n {
		k := testKey(i)
		switch has := f.Has(&k); {
		case i < n && !has:
			t.Fatalf("key %d was recorded and is called unknown", i)
		case i >= n && has:
			perhaps++
		}
	}
	if share := float64(perhaps) / n; share > 0.01 {
		t.Errorf("got %.4f of unknown keys called perhaps; want about 0.005", share)
	}
}

package canon

import "testing"

func TestNoneKeepsAnyBytes(t *testing.T) {
	for _, in := range []string{"", " HTTP://H:80/%61#f\n", "\xff\x00"} {
		e, err := None().Explain(in)
		if err != nil || e.Canonical != in || len(e.Steps) != 0 {
			t.Errorf("%q: got %+v, %v; want it unchanged", in, e, err)
		}
		if got, err := None().AppendCanonical([]byte("kept "), []byte(in)); string(got) != "kept "+in || err != nil {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

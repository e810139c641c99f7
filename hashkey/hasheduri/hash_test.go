package hasheduri

import (
	"crypto/sha512"
	"encoding/json"
	"errors"
	"testing"
)

func TestPrivateAlgorithms(t *testing.T) {
	h := Hasher{Algorithm: "x-sha512", Algorithms: algorithms(t)}
	u, err := h.Sum("http://h/")
	if err != nil || len(u.Hash) != 128 {
		t.Fatalf("got %v, %v; want 128 digits", u, err)
	}
	if back, err := Parse(u.String()); back != u || err != nil {
		t.Errorf("got %v, %v; want %v", back, err, u)
	}
	if ok, err := h.Match(u, "HTTP://h/"); !ok || err != nil {
		t.Errorf("match: got %t, %v", ok, err)
	}
	var none Hasher
	if _, err := none.Match(u, "http://h/"); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("without it: got %v; want ErrUnknownAlgorithm", err)
	}
	for _, name := range []string{"", "x-", "sha512", "md5", "x-sha256", "x_y", "x-a b", "x-fnv", "X-FNV"} {
		if _, err := algorithms(t).With(name, sha512.New); !errors.Is(err, ErrBadAlgorithm) {
			t.Errorf("register %q: got %v; want ErrBadAlgorithm", name, err)
		}
	}
}

func TestAlgorithmsDoNotChange(t *testing.T) {
	first := algorithms(t)
	if _, err := first.With("x-new", sha512.New); err != nil {
		t.Fatal(err)
	}
	h := Hasher{Algorithm: "x-new", Algorithms: first}
	if _, err := h.Sum("http://h/"); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("got %v; want ErrUnknownAlgorithm", err)
	}
}

func TestJSON(t *testing.T) {
	var u URI
	if err := json.Unmarshal([]byte(`"HASHED:MD5=CD933F3B87EE60E58917448C9678EE32+query+FRAG"`), &u); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(u)
	if want := `"hashed:md5=cd933f3b87ee60e58917448c9678ee32+frag+query"`; string(text) != want || err != nil {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
	if err := json.Unmarshal([]byte(`"x"`), &u); !errors.Is(err, ErrScheme) {
		t.Errorf("got %v; want ErrScheme", err)
	}
}

func TestErrorsHaveOneReason(t *testing.T) {
	reasons := []Reason{ErrScheme, ErrNoEquals, ErrEmptyAlgorithm, ErrBadAlgorithm, ErrEmptyHash, ErrBadHex, ErrUnknownFlag, ErrUnregistered, ErrHashLength}
	for i, s := range []string{"x", "hashed:x", "hashed:=0", "hashed:a_b=0", "hashed:md5=", "hashed:md5=g", "hashed:md5=0+x", "hashed:sha2=0", "hashed:md5=0"} {
		_, err := Parse(s)
		for j, r := range reasons {
			if errors.Is(err, r) != (i == j) {
				t.Errorf("%q: got %v; want %s alone", s, err, reasons[i])
			}
		}
	}
}

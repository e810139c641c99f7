package durable

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/firstseen/firstseen/store"
)

type content struct {
	Hosts []string `json:"hosts"`
	N     int      `json:"n"`
}

// TestDamage inverts each bit of a sealed text in turn: reading it returns the content, or an error.
func TestDamage(t *testing.T) {
	want := content{[]string{"a.example", "<b>"}, 17}
	text, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(text) {
		text[bit/8] ^= 1 << (bit % 8)
		var got content
		if err := Unmarshal(text, &got); err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("bit %d: got %+v of %s, and no error", bit, got, text)
		}
		text[bit/8] ^= 1 << (bit % 8)
	}
	var got content
	if err := Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for cut := range text {
		if err := Unmarshal(text[:cut], &got); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("cut to %d: got %v; want ErrCorrupt", cut, err)
		}
	}
}

// TestPlain: JSON of earlier versions has no checksum.
func TestPlain(t *testing.T) {
	plain, err := json.Marshal(content{N: 3})
	if err != nil {
		t.Fatal(err)
	}
	var got content
	if err := Unmarshal(plain, &got); err != nil || got.N != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	var list []int
	if err := Unmarshal([]byte("[1]"), &list); err != nil || len(list) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}

package hashkey

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// hashValue is what every width can do.
type hashValue interface {
	encoding.TextAppender
	encoding.TextMarshaler
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	driver.Valuer
	fmt.Formatter
	Hex() string
	Display() string
}

type hashPointer interface {
	encoding.TextUnmarshaler
	encoding.BinaryUnmarshaler
	sql.Scanner
}

// widths is one value of each width and an empty one to read it back into.
func widths() map[string]struct {
	value hashValue
	empty hashPointer
	read  func(hashPointer) hashValue
} {
	h := SumString("https://example.com/")
	return map[string]struct {
		value hashValue
		empty hashPointer
		read  func(hashPointer) hashValue
	}{
		"UrlHash":          {h, new(UrlHash), func(p hashPointer) hashValue { return *p.(*UrlHash) }},
		"UrlShortHash":     {h.Short(), new(UrlShortHash), func(p hashPointer) hashValue { return *p.(*UrlShortHash) }},
		"UrlVeryShortHash": {h.VeryShort(), new(UrlVeryShortHash), func(p hashPointer) hashValue { return *p.(*UrlVeryShortHash) }},
	}
}

func TestEveryCodecReadsWhatItWrote(t *testing.T) {
	for name, w := range widths() {
		text, _ := w.value.MarshalText()
		binary, _ := w.value.MarshalBinary()
		stored, _ := w.value.Value()
		for codec, read := range map[string]func() error{
			"text":       func() error { return w.empty.UnmarshalText(text) },
			"upper text": func() error { return w.empty.UnmarshalText(bytes.ToUpper(text)) },
			"binary":     func() error { return w.empty.UnmarshalBinary(binary) },
			"sql bytes":  func() error { return w.empty.Scan(stored) },
			"sql text":   func() error { return w.empty.Scan(string(text)) },
			"sql digits": func() error { return w.empty.Scan(text) },
		} {
			_ = w.empty.UnmarshalBinary(make([]byte, len(binary)))
			if err := read(); err != nil || w.read(w.empty) != w.value {
				t.Errorf("%s, %s: got %v, %v; want %v", name, codec, w.read(w.empty), err, w.value)
			}
		}
	}
}

func TestEveryCodecRefusesOtherWidths(t *testing.T) {
	for name, w := range widths() {
		binary, _ := w.value.MarshalBinary()
		hex := w.value.Hex()
		for what, err := range map[string]error{
			"short text":    w.empty.UnmarshalText([]byte(hex[1:])),
			"no digit":      w.empty.UnmarshalText([]byte("g" + hex[1:])),
			"long text":     w.empty.UnmarshalText([]byte(hex + "0")),
			"huge text":     w.empty.UnmarshalText([]byte(strings.Repeat("0", 1000))),
			"short bytes":   w.empty.UnmarshalBinary(binary[1:]),
			"no bytes":      w.empty.Scan([]byte{}),
			"null":          w.empty.Scan(nil),
			"number":        w.empty.Scan(int64(7)),
			"short in sql":  w.empty.Scan(hex[1:]),
			"digits in sql": w.empty.Scan([]byte("g" + hex[1:])),
		} {
			if !errors.Is(err, ErrFormat) || len(err.Error()) > 300 {
				t.Errorf("%s, %s: got %v; want a short error that wraps ErrFormat", name, what, err)
			}
		}
	}
}

func TestDisplayParsersRefuse(t *testing.T) {
	for _, s := range []string{"", "-", "1", "1-2-3", "1-2-3-4-5", "1-2-3-", "01-2-3-4", "+1-2-3-4", "1-2-3-18446744073709551616", "1-2-3-4 ", "1--2-3"} {
		if h, err := ParseUrlHashDisplay(s); !errors.Is(err, ErrFormat) || h != (UrlHash{}) {
			t.Errorf("%q: got %v, %v; want the zero hash and ErrFormat", s, h, err)
		}
	}
}

func TestJSON(t *testing.T) {
	type doc struct {
		Hash UrlHash
		Seen map[UrlVeryShortHash]UrlShortHash
	}
	h := SumString("x")
	in := doc{h, map[UrlVeryShortHash]UrlShortHash{h.VeryShort(): h.Short()}}
	text, err := json.Marshal(in)
	want := fmt.Sprintf(`{"Hash":"%s","Seen":{"%s":"%s"}}`, h.Hex(), h.VeryShort().Hex(), h.Short().Hex())
	if string(text) != want || err != nil {
		t.Fatalf("got %s, %v; want %s", text, err, want)
	}
	var out doc
	if err := json.Unmarshal(text, &out); err != nil || out.Hash != h || out.Seen[h.VeryShort()] != h.Short() {
		t.Errorf("got %+v, %v; want %+v", out, err, in)
	}
}

func TestFormatAndLog(t *testing.T) {
	h := SumString("x").VeryShort()
	for format, want := range map[string]string{
		"%s": h.Hex(), "%v": h.Hex(), "%x": h.Hex(), "%X": strings.ToUpper(h.Hex()), "%d": h.Display(), "%t": "%!t(hash=" + h.Hex() + ")",
	} {
		if got := fmt.Sprintf(format, h); got != want {
			t.Errorf("%s: got %s; want %s", format, got, want)
		}
	}
	for name, w := range widths() {
		var line strings.Builder
		slog.New(slog.NewTextHandler(&line, nil)).Info("", "key", w.value)
		if !strings.Contains(line.String(), "key="+w.value.Hex()) {
			t.Errorf("%s: logged %s; want %s", name, line.String(), w.value.Hex())
		}
		if got := fmt.Sprint(w.value); got != w.value.Hex() {
			t.Errorf("%s: printed %s; want %s", name, got, w.value.Hex())
		}
	}
}

func FuzzParseDisplay(f *testing.F) {
	f.Add("1-2-3-4")
	f.Add("18446744073709551615-0-0-1")
	f.Fuzz(func(t *testing.T, s string) {
		if h, err := ParseUrlHashDisplay(s); err == nil && h.Display() != s {
			t.Errorf("%q: got %s; want the same text", s, h.Display())
		}
		if h, err := ParseUrlHash(s); err == nil && h.Hex() != strings.ToLower(s) {
			t.Errorf("%q: got %s; want the same digits", s, h.Hex())
		}
	})
}

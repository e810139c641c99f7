package sxurl

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseKeyReadsWhatHexReads(t *testing.T) {
	digits := []byte("0123456789abcdefFEDCBA98765432100123456789ABCDEFfedcba9876543210")
	for at := range digits {
		for c := range 256 {
			text := bytes.Clone(digits)
			text[at] = byte(c)
			want, wantErr := hex.DecodeString(string(text))
			got, err := ParseKey(string(text))
			if wantErr == nil && (err != nil || !bytes.Equal(got[:], want)) || wantErr != nil && (!errors.Is(err, ErrHex) || got != Key{}) {
				t.Fatalf("%q: got %x, %v; want %x, %v", text, got, err, want, wantErr)
			}
		}
	}
}

func TestKeyCodecs(t *testing.T) {
	k, err := Codec{}.Encode("https://www.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(k)
	var fromJSON, fromText, fromBytes Key
	value, _ := k.Value()
	errs := errors.Join(json.Unmarshal(text, &fromJSON), fromText.Scan(value), fromBytes.Scan(k[:]))
	if fromJSON != k || fromText != k || fromBytes != k || errs != nil {
		t.Errorf("got %v, %v, %v, %v; want %v each", fromJSON, fromText, fromBytes, errs, k)
	}
	if got, want := fmt.Sprintf("%s %v %x %X", k, k, k, k), strings.Repeat(k.Hex()+" ", 3)+strings.ToUpper(k.Hex()); got != want {
		t.Errorf("printed %s; want %s", got, want)
	}
	for _, bad := range []any{nil, 7, "", "00", []byte{1}, strings.Repeat("g", 64)} {
		if err := fromText.Scan(bad); !errors.Is(err, ErrLength) && !errors.Is(err, ErrHex) {
			t.Errorf("scan of %v: got %v; want ErrLength or ErrHex", bad, err)
		}
	}
}

func TestKeysSortAsTheirHex(t *testing.T) {
	var keys []Key
	for _, u := range []string{"http://a.com/", "https://b.com/", "ftp://c.org/", "https://x.a.com/?q"} {
		k, err := Codec{}.Encode(u)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.Compare)
	if !slices.IsSortedFunc(keys, func(a, b Key) int { return strings.Compare(a.Hex(), b.Hex()) }) {
		t.Errorf("got %v; want the order of the digits", keys)
	}
}

// TestSlicesFillTheKey: slices and header lie side by side over all 256 bits.
func TestSlicesFillTheKey(t *testing.T) {
	for _, l := range []Layout{Release02, Release11} {
		table := l.table()
		var b bits
		total := uint(0)
		fields := []field{table.head, table.tld, table.domain, table.subdomain, table.path, table.query, table.fragment, table.port}
		if l == Release11 {
			fields = append(fields, table.flags)
		}
		for _, f := range fields {
			total += f.width
			b.put(f, 1<<f.width-1)
			if got := b.get(f); got != 1<<f.width-1 {
				t.Errorf("layout %d: field %+v: got %x; want all ones", l, f, got)
			}
		}
		if total != 256 || b != (bits{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}) {
			t.Errorf("layout %d: got %d bits, %x; want 256, all ones", l, total, b)
		}
	}
}

package sxurl

import (
	"errors"
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout Layout
		url    string
		at     int // digit to change
		digit  byte
		want   Reason // of a strict codec; others take the key
	}{
		{"as encoded", Release02, "https://a.com/", 0, '1', ""},
		{"reserved bit", Release02, "https://a.com/", 2, '1', ErrReserved},
		{"flag without port", Release02, "https://a.com/", 2, '2', ErrPortFlag},
		{"port without flag", Release02, "https://a.com/", 33, 'c', ErrPortFlag},
		{"port 0", Release02, "https://a.com:0/", 0, '1', ErrPort},
		{"other port", Release02, "https://a.com:8443/", 0, '1', ""},
		{"as encoded", Release11, "https://a.com/", 1, '0', ""},
		{"reserved bit", Release11, "https://a.com/", 33, '4', ErrReserved},
		{"flag without port", Release11, "https://a.com/", 32, '4', ErrPortFlag},
		{"port without flag", Release11, "https://a.com/", 37, 'c', ErrPortFlag},
	} {
		k, err := Codec{Layout: c.layout}.Encode(c.url)
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(k.Hex())
		text[c.at] = c.digit
		key, err := ParseKey(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Codec{Layout: c.layout}).Decode(key); err != nil {
			t.Errorf("%s: got %v; want no error unless strict", c.name, err)
		}
		_, err = Codec{Layout: c.layout, Strict: true}.Decode(key)
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s, layout %d: got %v; want %q", c.name, c.layout, err, c.want)
		}
		_, err = Codec{Layout: c.layout, Strict: true}.Match(key, Port, "443")
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s, layout %d: match got %v; want %q", c.name, c.layout, err, c.want)
		}
	}
}

func TestHeaderErrorsOfBothKinds(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		head   string
		want   Reason
	}{
		{Release02, "00", ErrVersion}, {Release02, "20", ErrVersion}, {Release02, "16", ErrScheme}, {Release02, "1e", ErrScheme},
		{Release11, "30", ErrScheme}, {Release11, "01", ErrReserved}, {Release11, "2f", ErrReserved},
	} {
		k, err := ParseKey(c.head + "00000000000000000000000000000000000000000000000000000000000000")
		if err != nil {
			t.Fatal(err)
		}
		codec := Codec{Layout: c.layout}
		if f, err := codec.Decode(k); !errors.Is(err, c.want) || f != (Fields{}) {
			t.Errorf("%s: got %+v, %v; want %q", c.head, f, err, c.want)
		}
		if _, err := codec.Match(k, TLD, "com"); !errors.Is(err, c.want) {
			t.Errorf("%s: match got %v; want %q", c.head, err, c.want)
		}
		if _, err := codec.HostKey(k); !errors.Is(err, c.want) {
			t.Errorf("%s: host got %v; want %q", c.head, err, c.want)
		}
	}
}

// TestHugeHostsAreRefusedUnmapped: mapping takes quadratic time in a label, and an error
// that quotes all of it fills logs.
func TestHugeHostsAreRefusedUnmapped(t *testing.T) {
	for host, want := range map[string]error{
		strings.Repeat("\u2f00", 1_000) + "\ufffd": ErrHostLength,
		strings.Repeat("a.", 1_001):                ErrHostLength,
		strings.Repeat("a.", 600) + "\ufffd":       ErrHost,
		strings.Repeat("\u00ad", 900) + "A.com":    nil, // soft hyphens go
	} {
		_, err := NormalizeHost(host)
		if !errors.Is(err, want) || err != nil && len(err.Error()) > 600 {
			t.Errorf("host of %d bytes: got %v; want %v, in a few words", len(host), err, want)
		}
	}
}

// TestHostsByCurrentUnicode holds that hosts are mapped by the tables that canon has, in
// which the capital sharp s no longer becomes "ss".
func TestHostsByCurrentUnicode(t *testing.T) {
	for host, want := range map[string]string{"ẞ.com": "xn--zca.com", "ß.com": "xn--zca.com", "Ü.com": "xn--tda.com"} {
		if got, err := NormalizeHost(host); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", host, got, err, want)
		}
	}
}

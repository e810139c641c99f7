package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOffsetsAreOfTheStoredFile writes archives of several records a part, parts without any and bodies larger than what is
// read ahead: each record is found where its gzip member or zstd frame begins, or, without compression, where it does itself.
func TestOffsetsAreOfTheStoredFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	body := make([]byte, 300<<10)
	for i := range body {
		body[i] = byte('a' + rng.IntN(26))
	}
	archives := map[string]func(n int, body []byte) string{
		"warc": func(n int, body []byte) string {
			return fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/%d\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, len(body), body)
		},
		"wet": func(n int, body []byte) string {
			return fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/%d\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, len(body), body)
		},
		"wat": func(n int, body []byte) string {
			json := fmt.Sprintf(`{"Envelope": {"WARC-Header-Metadata": {"WARC-Type": "response", "WARC-Target-URI": "http://a.example/%d"}}, "x": "%s"}`, n, body)
			return fmt.Sprintf("WARC/1.0\r\nWARC-Type: metadata\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(json), json)
		},
		"arc": func(n int, body []byte) string {
			return fmt.Sprintf("http://a.example/%d 192.0.2.1 20260101000000 text/html %d\n%s\n", n, len(body), body)
		},
	}
	compressions := map[string]func(text string) []byte{
		"none":       func(text string) []byte { return []byte(text) },
		"gzip":       func(text string) []byte { return gz(t, text) },
		"zstd":       func(text string) []byte { return zst(t, nil, text) },
		"zstd, dict": func(text string) []byte { return zst(t, []byte("WARC-Target-URI: http://a.example/"), text) },
	}
	for kind, archive := range archives {
		for name, compress := range compressions {
			var file []byte
			if name == "zstd, dict" {
				file = skippable(0x5d, []byte("WARC-Target-URI: http://a.example/"))
			}
			var want []int64
			for n := 0; len(want) < 50; {
				at, text := int64(len(file)), ""
				for range 1 + max(0, rng.IntN(6)-2) {
					size := rng.IntN(300)
					if rng.IntN(15) == 0 {
						size = rng.IntN(len(body))
					}
					if name == "none" {
						at = int64(len(file) + len(text))
					}
					want = append(want, at)
					text += archive(n, body[:size])
					n++
				}
				if file = append(file, compress(text)...); rng.IntN(4) == 0 {
					file = append(file, compress("")...)
				}
			}
			var got []int64
			f, err := New(context.Background(), kind, io.NopCloser(bytes.NewReader(file)))
			if err != nil {
				t.Fatal(kind, name, err)
			}
			for b, err := range Read(f, Options{}) {
				if err != nil {
					t.Fatal(kind, name, err)
				}
				for r := range b.All() {
					if want := fmt.Sprintf("http://a.example/%d", len(got)); r.URL != want {
						t.Fatalf("%s, %s: got %s; want %s", kind, name, r.URL, want)
					}
					got = append(got, r.Offset)
				}
			}
			if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
				t.Errorf("%s, %s: got offsets %s; want %s", kind, name, g, w)
			}
		}
	}
}

// TestPartsAreForgotten reads a list of many small members: the file remembers those alone that were read ahead.
func TestPartsAreForgotten(t *testing.T) {
	file := bytes.Repeat(gz(t, strings.Repeat("http://a.example/\n", 100)), 20_000)
	f, err := New(context.Background(), "list", io.NopCloser(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for line := make([]byte, 1800); err == nil; _, err = io.ReadFull(f, line) {
		most = max(most, len(f.parts))
	}
	if most > 256<<10/1800+2 || err != io.EOF {
		t.Errorf("got %d parts kept, and %v; want those of 256 KiB, and the end", most, err)
	}
}

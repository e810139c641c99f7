package logs

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// repeated reads a piece again and again, behind a head.
func repeated(head, piece string, times int) io.Reader {
	parts := []io.Reader{strings.NewReader(head)}
	block := strings.Repeat(piece, max(1, (64<<10)/len(piece)))
	for n := times * len(piece); n > 0; n -= len(block) {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(parts...)
}

// bombs are records whose headers have no end.
var bombs = map[string]struct{ head, piece string }{
	"folded URI":    {"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/", "\r\n " + strings.Repeat("a", 70)},
	"short folds":   {"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/", "\r\n a"},
	"many headers":  {"WARC/1.0\r\nWARC-Type: response\r\n", "X: y\r\n"},
	"one long line": {"WARC/1.0\r\nWARC-Target-URI: http://a.example/", "aaaaaaaaaaaaaaaa"},
	"ARC line":      {"http://a.example/", "aaaaaaaaaaaaaaaa"},
}

// TestHeaderBombs bounds what a record's header may take, however it is spread over
// lines: the memory that reading allocates, and how far it reads.
func TestHeaderBombs(t *testing.T) {
	const size, maxAlloc = 256 << 20, 64 << 20
	for name, bomb := range bombs {
		format := WARC
		if strings.HasPrefix(name, "ARC") {
			format = ARC
		}
		count := &counting{r: repeated(bomb.head, bomb.piece, size/len(bomb.piece))}
		in, err := Open(t.Context(), "-", count)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		records := records(in, Options{Format: format}, nil)
		var got error
		for _, err := range records {
			got = err
		}
		runtime.ReadMemStats(&after)
		if got == nil || !strings.Contains(got.Error(), "header of more than 1048576 bytes in record 1") {
			t.Errorf("%s: got %v; want an error that names the record and the limit", name, got)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc {
			t.Errorf("%s: got %d bytes allocated; want at most %d", name, n, maxAlloc)
		}
		if n := count.n.Load(); n > 4<<20 {
			t.Errorf("%s: got %d bytes read; want little more than the limit", name, n)
		}
	}
}

type counting struct {
	r io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// endless are inputs of each format that hold no record for long, or one that is as long.
var endless = map[Format]struct{ head, piece string }{
	WARC:      {"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: 1000000000000\r\n\r\n", "0"},
	ARC:       {"", "\n"},
	List:      {"", "\n"},
	CDXJ:      {"", "!meta {}\n"},
	JSON:      {"", "{\"a\":1}\n"},
	Heritrix:  {"", "x\n"},
	Access:    {"", "x\n"},
	Wget:      {"", "x\n"},
	Scrapy:    {"", "x\n"},
	NutchText: {"", "x\n"},
	NutchCSV:  {"", "x\n"},
	CDX:       {"", "x"}, // one line
	W3C:       {"#Fields: cs-uri\n", "#\n"},
	S3:        {"", "x\n"},
	ELB:       {"", "x\n"},
	Sitemap:   {"<urlset>", "<a></a>\n"},
}

// TestReadersEndWithTheirContext ends a context while an input is read that unpacks to 64 MiB. No
// reader may continue to the end of the input.
func TestReadersEndWithTheirContext(t *testing.T) {
	for format, e := range endless {
		var stored bytes.Buffer
		z, err := gzip.NewWriterLevel(&stored, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(z, repeated(e.head, e.piece, (1<<20)/len(e.piece))); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		in, err := Open(ctx, "-", &stored)
		if err != nil {
			t.Fatal(err)
		}
		cancel() // what Open looked at is buffered
		var counts Counts
		records := records(in, Options{Format: format}, &counts)
		var got error
		for _, err := range records {
			var refusal Refusal
			if !errors.As(err, &refusal) {
				got = err
			}
		}
		if !errors.Is(got, context.Canceled) {
			t.Errorf("%s: got %v after %d lines; want the error of the context", format, got, counts.Units)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestZipDirectoryIsBounded reads a zip whose directory names more than it may.
func TestZipDirectoryIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "many.wacz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	long := strings.Repeat("n", 60_000)
	for i := range 1200 { // the name is in the directory and before the member
		if _, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("archive/%d%s", i, long)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	records := records(in, Options{}, nil)
	for _, err = range records {
		if err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "directory of more than 67108864 bytes") {
		t.Errorf("got %v; want an error that names the limit", err)
	}
}

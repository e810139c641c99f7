package logs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

func parquetFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil || len(files) < 4 {
		t.Fatalf("got %v, %v; want the files of two foreign writers", files, err)
	}
	return files
}

// TestParquetOfForeignWriters reads the same rows of files by pyarrow and by DuckDB, in
// both versions of pages and three compressions, as of the JSON lines beside them.
func TestParquetOfForeignWriters(t *testing.T) {
	want := readFile(t, filepath.Join("testdata", "parquet", "parquet.jsonl"))
	for _, file := range parquetFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := readFile(t, file)
			if got.format != Parquet || got.failure != nil || len(got.bad) > 0 || len(got.records) != len(want.records) || got.counts.Units != int64(len(want.records)) {
				t.Fatalf("got %s, %d records, %d lines, %v, %v; want %d", got.format, len(got.records), got.counts.Units, got.bad, got.failure, len(want.records))
			}
			for i, r := range got.records {
				w := fieldsOf(t, i)
				if strings.Contains(file, "urls") {
					w = Record{URL: w.URL, Kind: Link, Line: w.Line, silent: true}
				}
				if !reflect.DeepEqual(r, w) {
					t.Errorf("row %d: got %+v; want %+v", i+1, r, w)
				}
			}
		})
	}
}

// fieldsOf is a row of parquet.jsonl by the names of its columns.
func fieldsOf(t *testing.T, row int) Record {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "parquet", "parquet.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var o fields
	if err := decode(strings.Split(string(raw), "\n")[row], &o); err != nil {
		t.Fatal(err)
	}
	return Record{URL: o.text("url"), Kind: Fetch, Time: digitTime(o.text("fetch_time")), Status: int(number(o.text("fetch_status"))), MIME: o.text("content_mime_detected"),
		Digest: o.text("content_digest"), Redirect: o.text("fetch_redirect"), Length: number(o.text("warc_record_length")), Line: int64(row + 1)}
}

func TestParquetFromAPipe(t *testing.T) {
	raw, err := os.ReadFile(parquetFiles(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	got := transcript(t, open(t, "", string(raw)), Options{})
	if want := "parquet\n! cannot read -; got Parquet in a pipe; want a file\n"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestParquetColumnOfURLs(t *testing.T) {
	for field, want := range map[string]string{
		"url_surtkey": "commoncrawl)/", "fetch_status": "got no URL", "nonsense": `want one that is named url, or --url-field`,
	} {
		f := open(t, "../parquet/duckdb.parquet", "")
		if got := transcript(t, f, Options{URLField: field}); !strings.Contains(got, want) {
			t.Errorf("%s: got %.300s; want %q in it", field, got, want)
		}
	}
}

// TestOnlyURLs reads files of every kind of page, with rows that have no URL or one of another scheme, as URLs alone and as records.
func TestOnlyURLs(t *testing.T) {
	type row struct {
		URL    *string `parquet:"url,optional"`
		Status int32   `parquet:"fetch_status"`
	}
	type whole struct {
		URL string `parquet:"url,dict"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	urls := []string{"http://a.example/\nb", "http://a.example/\x00", "# http://a.example/", "dns:a.example", "mailto:a@a.example", "no url", "\"http://a.example/1\",2"}
	for range 20_000 {
		urls = append(urls, fmt.Sprintf("https://www.example.com/%d/%s", random.IntN(10_000), strings.Repeat("x", random.IntN(200))))
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		for version := 1; version <= 2; version++ {
			for _, dictionary := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%d/dictionary=%v", codec, version, dictionary), func(t *testing.T) {
					name := filepath.Join(t.TempDir(), "urls.parquet")
					file, err := os.Create(name)
					if err != nil {
						t.Fatal(err)
					}
					options := []parquet.WriterOption{parquet.Compression(codec), parquet.DataPageVersion(version), parquet.MaxRowsPerRowGroup(3000), parquet.PageBufferSize(64 << 10)}
					if dictionary {
						var rows []whole
						for _, url := range urls {
							rows = append(rows, whole{url})
						}
						err = parquet.Write(file, rows, options...)
					} else {
						var rows []row
						long := strings.Repeat("http://b.example/", 60_000) // which the statistics of a dictionary's page have no room for
						for i, url := range append(slices.Clone(urls), long, "http://c.example/") {
							if rows = append(rows, row{&url, 200}); i%7 == 3 {
								rows[i].URL = []*string{nil, new(string)}[i%2]
							}
						}
						err = parquet.Write(file, rows, options...)
					}
					if err := errors.Join(err, file.Close()); err != nil {
						t.Fatal(err)
					}
					want, wantCounts := urlsOf(t, name, Options{Events: Auto})
					got, counts := urlsOf(t, name, Options{Events: Auto, OnlyURLs: true})
					if len(want) < 10_000 || !slices.Equal(got, want) {
						t.Errorf("got %d URLs; want the %d of the records", len(got), len(want))
					}
					if !reflect.DeepEqual(counts, wantCounts) {
						t.Errorf("got %+v; want %+v", counts, wantCounts)
					}
				})
			}
		}
	}
}

// urlsOf returns the URLs of a file with their rows, and what became of its units.
func urlsOf(t *testing.T, name string, opt Options) (urls []string, counts Counts) {
	t.Helper()
	f, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b, err := range Read(f, opt) {
		if err != nil {
			t.Fatal(err)
		}
		for r := range b.All() {
			urls = append(urls, fmt.Sprint(r.Line, " ", r.URL))
		}
		counts.Add(&b.Counts)
		b.Release()
	}
	return urls, counts
}

// TestParquetNames finds columns by the names that tables and JSON call them, and takes no lists for them.
func TestParquetNames(t *testing.T) {
	type common struct {
		URL    string  `parquet:"Page_URL"`
		Time   int64   `parquet:"timestamp,timestamp(millisecond)"`
		Status *string `parquet:"status,optional"`
		Digest string  `parquet:"digest"`
		MIME   string  `parquet:"mimeType"`
	}
	type numbers struct {
		URL    string `parquet:"url"`
		Time   int64  `parquet:"ts"`
		Status int32  `parquet:"Status"`
		Digest int64  `parquet:"payload_digest"`
		Length int64  `parquet:"length"`
	}
	type lists struct {
		URL    string   `parquet:"url"`
		Status []int32  `parquet:"status"`
		Digest []string `parquet:"digest"`
	}
	type hosts struct {
		Host string `parquet:"host"`
	}
	var files [4]bytes.Buffer
	status := "200"
	for _, err := range []error{
		parquet.Write(&files[0], []common{{"http://a.example/", 1772323200000, &status, "sha1:AA", "text/html"}, {"http://b.example/", 0, nil, "", ""}}),
		parquet.Write(&files[1], []numbers{{"http://a.example/", 1772323200, 404, 7, 9}}),
		parquet.Write(&files[2], []lists{{"http://a.example/", []int32{200}, []string{"AA"}}}),
		parquet.Write(&files[3], []hosts{{"a.example"}, {"http://b.example/"}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, want := range [][]Record{
		{{URL: "http://a.example/", Kind: Fetch, Time: day, Status: 200, Digest: "AA", MIME: "text/html", Line: 1}, {URL: "http://b.example/", Kind: Link, Time: time.Unix(0, 0).UTC(), Line: 2, silent: true}},
		{{URL: "http://a.example/", Kind: Fetch, Time: day, Status: 404, Digest: "7", Length: 9, Line: 1}},
		{{URL: "http://a.example/", Kind: Link, Line: 1, silent: true}},
		{{URL: "https://a.example", Kind: Link, Line: 1, silent: true}, {URL: "http://b.example/", Kind: Link, Line: 2, silent: true}},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, files[i].Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{}
		if i == 3 {
			opt = Options{Scheme: "https", URLField: "host"}
		}
		var got []Record
		for r, err := range records(f, opt, nil) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, r)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("file %d: got %+v; want %+v", i, got, want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

package logs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
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
					w = Record{URL: w.URL, Kind: Link, Line: w.Line}
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
	var o struct {
		URL, Digest, MIME, Redirect loose
		Time                        loose
		Status, Length              loose
	}
	names := strings.NewReplacer("fetch_time", "time", "fetch_status", "status", "content_digest", "digest",
		"content_mime_detected", "mime", "fetch_redirect", "redirect", "warc_record_length", "length")
	if err := decode(names.Replace(strings.Split(string(raw), "\n")[row]), &o); err != nil {
		t.Fatal(err)
	}
	return Record{URL: string(o.URL), Kind: Fetch, Time: digitTime(string(o.Time)), Status: int(number(string(o.Status))), MIME: string(o.MIME),
		Digest: string(o.Digest), Redirect: string(o.Redirect), Length: number(string(o.Length)), Line: int64(row + 1)}
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

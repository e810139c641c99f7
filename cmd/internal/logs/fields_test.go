package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// stored returns a file with a text: Parquet can't be read from a pipe.
func stored(t *testing.T, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestFields reads further columns and fields with each URL, whatever the format: by name, by number, of nested objects, and
// those that each record knows.
func TestFields(t *testing.T) {
	type row struct {
		URL   string  `parquet:"url"`
		Score int64   `parquet:"score"`
		Title *string `parquet:"title,optional"`
	}
	title := "t"
	var table bytes.Buffer
	w := parquet.NewGenericWriter[row](&table)
	if _, err := w.Write([]row{{"http://a.example/", 3, &title}, {"http://b.example/", -1, nil}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, fields, want string }{
		{"table", "url,Score,title\nhttp://a.example/,3,\"x, y\"\nhttp://b.example/,,z\n", "title|score|none|2", "x, y|3||3 z|||"},
		{"columns of one plain name", "url,server_code,page_code,page-code\nhttp://a.example/,x,7,8\n", "page_code|page-code|Server Code", "7|8|x"},
		{"tabs without a header", "http://a.example/\t3\thi\nhttp://b.example/\t4\tho\n", "2|3", "3|hi 4|ho"},
		{"quotes over lines", "url,title\nhttp://a.example/,\"x\ny\"\n", "title", "x\ny"},
		{"Zeek", "#fields\tts\thost\turi\tmethod\n1.5\ta.example\t/x\tGET\n1.5\tb.example\t/y\tPOST\n", "method", "GET POST"},
		{"JSON", `{"url":"http://a.example/","n":1.5,"s":"x","o":{"a":["b"]},"z":null,"t":true}` + "\n", "n|s|o.a|o|z|t", `1.5|x|["b"]|{"a":["b"]}||true`},
		{"an array", `[{"url":"http://a.example/","n":1},` + "\n" + `{"url":"http://b.example/","n":2}]` + "\n", "n", "1 2"},
		{"rows of arrays", `[["original","timestamp","digest"],` + "\n" + `["http://a.example/","20260101000000","AA"]]` + "\n", "timestamp|digest", "20260101000000|AA"},
		{"sitemap", "<urlset><url><priority> 0.3 </priority><loc>http://a.example/</loc><lastmod>2026-01-01</lastmod></url><url><loc>http://b.example/</loc><loc>http://c.example/</loc><priority>1</priority></url></urlset>",
			"lastmod|priority", "2026-01-01|0.3 | |1"},
		{"a sitemap cut off", "<urlset><url><loc>http://a.example/</loc><lastmod>2026", "lastmod", "2026"},
		{"CDXJ", `example,a)/ 20260101000000 {"url": "http://a.example/", "status": "200", "digest": "AA", "mime": "text/html", "length": "7"}` + "\n",
			"timestamp|status|digest|mime|length", "2026-01-01T00:00:00Z|200|AA|text/html|7"},
		{"list", "http://a.example/\nhttp://b.example/\n", "x", ""},
		{"Parquet", table.String(), "score|title|none", "3|t| -1||"},
	} {
		var got []string
		f := stored(t, c.text)
		for b, err := range Read(f, Options{Fields: strings.Split(c.fields, "|")}) {
			if err != nil {
				if c.name != "a sitemap cut off" {
					t.Fatalf("%s: %v", c.name, err)
				}
				break
			}
			for r := range b.All() {
				if r.Fields != nil {
					got = append(got, strings.Join(r.Fields, "|"))
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q; want %q", c.name, strings.Join(got, " "), c.want)
		}
	}
}

// TestMust refuses tables that lack a column that they must have.
func TestMust(t *testing.T) {
	type row struct {
		URL  string `parquet:"url"`
		Rank int64  `parquet:"rank"`
	}
	var parquetFile bytes.Buffer
	w := parquet.NewGenericWriter[row](&parquetFile)
	if _, err := w.Write([]row{{"http://a.example/", 3}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const table, bare = "url,Rank,time\nhttp://a.example/,3,2026-01-01\n", "http://a.example/\t3\thi\nhttp://b.example/\t4\tho\n"
	for _, c := range []struct{ text, must, want string }{
		{table, "rank", ""},
		{table, "2", ""},
		{table, "timestamp", ""},
		{table, "rnk", `got no column "rnk"; its columns are ["url" "Rank" "time"]`},
		{table, "4", `got no column "4"`},
		{table, "digest", `got no column "digest"`},
		{bare, "3", ""},
		{bare, "rank", "its 3 columns have no names: give a number"},
		{"#fields\tts\thost\turi\n1.5\ta.example\t/x\n1.5\tb.example\t/y\n", "rank", `its columns are ["ts" "host" "uri"]`},
		{parquetFile.String(), "rank", ""},
		{parquetFile.String(), "rnk", `got no column "rnk"; its columns are ["url" "rank"]`},
		{`{"url":"http://a.example/"}` + "\n", "rank", ""},
	} {
		f := stored(t, c.text)
		said, records := "", 0
		for b, err := range Read(f, Options{Fields: []string{c.must}, Must: []string{c.must}}) {
			if err != nil {
				said = err.Error()
				break
			}
			records += len(b.Records)
		}
		if !strings.Contains(said, c.want) || (c.want == "") != (said == "") || (c.want == "") != (records > 0) {
			t.Errorf("%.20q, %q: got %d records, %s; want %q", c.text, c.must, records, said, c.want)
		}
	}
}

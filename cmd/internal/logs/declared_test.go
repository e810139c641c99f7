package logs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// TestWARCDeclares reads what responses declare: of bodies as they came, of others that were
// unpacked although the header says otherwise, and of a robots.txt.
func TestWARCDeclares(t *testing.T) {
	const page = `<html><head><link rel="canonical" href="/c"></head>`
	chunks := fmt.Sprintf("%x\r\n%s\r\n%x;x=y\r\n%s\r\n0\r\n\r\n", 10, page[:10], len(page)-10, page[10:])
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(page)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const html, chunked = "Content-Type: text/html; charset=utf-8\r\n", "Transfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct {
		url, status, header, body string
		want                      [3]string
	}{
		"plain":           {"/a", "200 OK", html, page, [3]string{"http://a.example/c"}},
		"chunked":         {"/a", "200 OK", html + chunked, chunks, [3]string{"http://a.example/c"}},
		"unchunked":       {"/a", "200 OK", html + chunked, page, [3]string{"http://a.example/c"}},
		"gzip":            {"/a", "200 OK", html + "Content-Encoding: gzip\r\n", packed.String(), [3]string{"http://a.example/c"}},
		"gunzipped":       {"/a", "200 OK", html + "Content-Encoding: gzip\r\n", page, [3]string{"http://a.example/c"}},
		"header":          {"/a", "200 OK", "Link: </h>; rel=canonical\r\nno-vary-search: params=(\"a\")\r\n", "x", [3]string{"http://a.example/h", `params=("a")`}},
		"robots":          {"/robots.txt", "200 OK", "Content-Type: text/plain\r\n", "User-agent: *\nClean-param: a&b /x\nClean-param: c\n", [3]string{"", "", "a&b /x\nc"}},
		"not a page":      {"/a", "200 OK", "Content-Type: text/plain\r\n", page, [3]string{}},
		"an error":        {"/a", "404 Not Found", html, page, [3]string{}},
		"cut in its head": {"/a", "200 OK", "Content-Type", "", [3]string{}},
	} {
		block := "HTTP/1.1 " + c.status + "\r\n" + c.header + "\r\n" + c.body
		warc := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example%s\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			c.url, len(block), block)
		for _, declare := range []bool{true, false} {
			records := records(open(t, "", warc+strings.ReplaceAll(warc, "a.example", "b.example")), Options{Format: WARC, Declared: declare}, nil)
			n := 0
			for r, err := range records {
				if err != nil {
					t.Fatal(err)
				}
				want := c.want
				if !declare {
					want = [3]string{}
				}
				want[0] = strings.ReplaceAll(want[0], "a.example", strings.Split(r.URL, "/")[2])
				if n++; [3]string{r.Canonical, r.NoVarySearch, r.CleanParam} != want {
					t.Errorf("%s: got %q, %q, %q; want %q", name, r.Canonical, r.NoVarySearch, r.CleanParam, want)
				}
			}
			if n != 2 {
				t.Errorf("%s: got %d records; want the 2 of the file", name, n)
			}
		}
	}
}

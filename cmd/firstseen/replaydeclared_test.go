package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplayDeclared: the flag reads declarations of a WARC file and of captures, and the
// report has their table.
func TestReplayDeclared(t *testing.T) {
	dir := t.TempDir()
	warc, page := filepath.Join(dir, "a.warc"), filepath.Join(dir, "report.html")
	var text strings.Builder
	for _, url := range []string{"http://a.example/p?x=1", "http://a.example/p"} {
		http := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<link rel=canonical href=/p>"
		text.WriteString("WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:" + url + ">\r\nWARC-Date: 2026-11-20T12:00:00Z\r\nWARC-Target-URI: " + url +
			"\r\nWARC-Payload-Digest: sha1:A\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: " + grouped(int64(len(http))) + "\r\n\r\n" + http + "\r\n\r\n")
	}
	captures := `example,a)/s 20261120120000 {"url":"http://a.example/s?u=1","status":"200","digest":"A","no_vary_search":"params=(\"u\")"}
example,a)/s 20261120120001 {"url":"http://a.example/s?u=2","status":"200","digest":"B"}
`
	list := filepath.Join(dir, "a.cdxj")
	for name, content := range map[string]string{warc: text.String(), list: captures} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, flag := range []string{"--declared", "--report=" + page, ""} {
		var out, errOut bytes.Buffer
		args := []string{"replay", "--json", warc, list}
		if flag != "" {
			args = append(args, flag)
		}
		if status := run(t.Context(), args, nil, &out, &errOut); status != statusOK {
			t.Fatalf("%s: got status %d, %s", flag, status, errOut.String())
		}
		want := `"declared":{"fetches":4,"left_out":0,"sources":[{"source":"rel=canonical","urls":1,"saved":1,"known_after_fetch":0,"same":1,"different":0,"unknown":0},` +
			`{"source":"No-Vary-Search","urls":2,"saved":1,"known_after_fetch":0,"same":0,"different":1,"unknown":0,"wrong":[{"url":"http://a.example/s?u=2","known":"http://a.example/s?u=1"}]},`
		if got := strings.Contains(out.String(), want); got != (flag != "") {
			t.Errorf("%q: got %s; want %s in it only with the flag", flag, out.String(), want)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(html, []byte("What declarations would have saved")) {
		t.Errorf("got %v and no table in the report", err)
	}
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"replay", "--declared", list}, nil, &out, &errOut); status != statusOK || !strings.Contains(out.String(), "different contents: http://a.example/s?u=2") {
		t.Errorf("got status %d, %s%s; want the pair", status, out.String(), errOut.String())
	}
}

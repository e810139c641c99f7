package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestJudgesGoOnAfterAFileThatIsCutShort: a truncated file loses only its missing records.
func TestJudgesGoOnAfterAFileThatIsCutShort(t *testing.T) {
	dir := t.TempDir()
	whole, cut, missing, rules := filepath.Join(dir, "whole.cdx.gz"), filepath.Join(dir, "cut.cdx.gz"), filepath.Join(dir, "missing"), filepath.Join(dir, "rules.json")
	log, err := os.ReadFile(filepath.Join("testdata", "crawl.cdx.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{whole: log, cut: log[:len(log)/2]} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, judge := range [][]string{{"audit", "--json"}, {"learn", "--json", "--output", rules}} {
		status, out, errOut := runCommand(t, append(judge, cut, missing, whole)...)
		var got struct {
			Unread []struct {
				File    string
				Records int
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v in %s, %s", judge[0], err, out, errOut)
		}
		if status != statusFailed || len(got.Unread) != 2 || got.Unread[0].File != cut || got.Unread[0].Records < 100 || got.Unread[1].Records != 0 {
			t.Errorf("%s: got status %d, %+v; want both files reported, and what was read of the first", judge[0], status, got.Unread)
		}
		if !strings.Contains(errOut, "cut.cdx.gz to its end: unexpected EOF") || !strings.Contains(errOut, "missing") {
			t.Errorf("%s: got %s; want both files named", judge[0], errOut)
		}
		if status, _, _ := runCommand(t, judge[0], missing); status != statusFailed {
			t.Errorf("%s of nothing: got status %d; want a failure", judge[0], status)
		}
	}
	if _, err := os.Stat(rules); err != nil {
		t.Error(err)
	}
}

// TestEveryFormatHasTheSameCaptures: rows of a URL, a time and a digest are captures in every format that can have them, whether there is no
// column of statuses or nothing in it; what is no capture is counted with its reason, in the same numbers as uniq counts.
func TestEveryFormatHasTheSameCaptures(t *testing.T) {
	type row struct {
		URL       string  `parquet:"url" json:"url"`
		Timestamp string  `parquet:"timestamp" json:"timestamp"`
		Digest    *string `parquet:"digest,optional" json:"digest"`
	}
	type withStatus struct {
		URL       string  `parquet:"url" json:"url"`
		Timestamp string  `parquet:"timestamp" json:"timestamp"`
		Digest    *string `parquet:"digest,optional" json:"digest"`
		Status    *int    `parquet:"status,optional" json:"status"`
	}
	dir, ok := t.TempDir(), 200
	var rows []row
	var others []withStatus
	for i := range 120 {
		r := row{fmt.Sprintf("http://a.example/p?id=%d&utm=%d", i/4, i%2), fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+i%28), new(string)}
		if *r.Digest = fmt.Sprintf("%040x", i/4); i%30 == 0 {
			r.Digest = nil
		} else if i%40 == 1 {
			r.URL = "http://[1/" // which no profile has a form for
		}
		rows, others = append(rows, r), append(others, withStatus{r.URL, r.Timestamp, r.Digest, nil})
	}
	others = append(others, withStatus{"http://a.example/with", "2026-01-01T00:00:00Z", nil, &ok})
	var files []string
	write := func(name string, data []byte, err error) {
		name = filepath.Join(dir, name)
		if err = cmp.Or(err, os.WriteFile(name, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	var a, b bytes.Buffer
	err := parquet.Write(&a, rows)
	write("plain.parquet", a.Bytes(), err)
	err = parquet.Write(&b, others)
	write("status.parquet", b.Bytes(), err)
	var lines [4]bytes.Buffer // JSON and CSV, without and with statuses
	lines[2].WriteString("url,timestamp,digest\n")
	lines[3].WriteString("url,timestamp,digest,status\n")
	for i, r := range others {
		digest, status := "", ""
		if r.Digest != nil {
			digest = *r.Digest
		}
		if r.Status != nil {
			status = "200"
		}
		if i < len(rows) {
			_ = json.NewEncoder(&lines[0]).Encode(rows[i])
			fmt.Fprintf(&lines[2], "%s,%s,%s\n", r.URL, r.Timestamp, digest)
		}
		_ = json.NewEncoder(&lines[1]).Encode(r)
		fmt.Fprintf(&lines[3], "%s,%s,%s,%s\n", r.URL, r.Timestamp, digest, status)
	}
	for i, name := range []string{"plain.jsonl", "status.jsonl", "plain.csv", "status.csv"} {
		write(name, lines[i].Bytes(), nil)
	}
	const reason = "without a digest, or a status of a server"
	for _, file := range files {
		more := 0
		if strings.HasPrefix(filepath.Base(file), "status.") {
			more = 1
		}
		for _, command := range []string{"audit", "learn"} {
			_, out, errOut := runCommand(t, command, "--json", file)
			var got struct {
				Captures, Digests int
				Refused           int64
				Left              map[string]int64 `json:"not_captured"`
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%s %s: %v in %s, %s", command, file, err, out, errOut)
			}
			if command == "audit" && (got.Captures != 113+more || got.Digests != 113) || got.Refused != 3 || got.Left[reason] != 4 {
				t.Errorf("%s %s: got %+v; want %d captures, 3 refused and 4 without a digest", command, file, got, 113+more)
			}
			if !strings.Contains(errOut, "not judged: 4 records "+reason+"\n") || !strings.Contains(errOut, "not judged: 3 lines refused") {
				t.Errorf("%s %s: got %s; want both counts", command, file, errOut)
			}
		}
		if _, _, errOut := runCommand(t, "uniq", file); !strings.Contains(errOut, " 3 refused") {
			t.Errorf("uniq %s: got %s; want as many refused", file, errOut)
		}
	}
	// A record is no fetch for import because it has a digest: the column may be of an earlier crawl.
	_, out, errOut := runCommand(t, "import", "--json", "--db", filepath.Join(dir, "db"), files[0])
	if !strings.Contains(out, `"left_out_not_fetched":120`) {
		t.Errorf("import: got %s, %s; want no row taken for a fetch", out, errOut)
	}
}

// TestLearnTellsHarmFirst: rules that the evidence is against come before the many that were not tested, however many URLs these make.
func TestLearnTellsHarmFirst(t *testing.T) {
	var log bytes.Buffer
	for day := range 4 { // pages that id tells apart, fetched again and again
		for i := range 60 {
			fmt.Fprintf(&log, "{\"url\":\"http://shop.example/p?id=%d\",\"timestamp\":\"2026-01-%02dT00:00:00Z\",\"digest\":\"%040x\"}\n", i, 1+day, i)
		}
	}
	for i := range 16800 { // and each of 210 places has more URLs for want of a rule
		fmt.Fprintf(&log, "{\"url\":\"http://s%d.example/l?page=%d\",\"status\":200,\"timestamp\":\"2026-01-01T00:00:00Z\"}\n", i%210, i)
	}
	name := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(name, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := runCommand(t, "learn", name)
	_, left, _ := strings.Cut(out, "\nnot proposed, and why (200 of ")
	first, _, _ := strings.Cut(left[strings.Index(left, "\n")+1:], "\n")
	if !strings.Contains(first, "shop.example/  drop id: it changes the page") {
		t.Errorf("got %s first; want the rule that changes pages", first)
	}
}

package archive

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestJournal plays imports of one file as it changes.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "crawl.log")
	for _, step := range []struct {
		what, text, file, crawl string
		from                    int64
		whole                   bool
		records                 int64 // at the end of this import
		end                     bool  // it came to the end of the file
	}{
		{what: "new", text: "one\n", records: 7},
		{what: "broken off", text: "one\n", from: 7, records: 9, end: true},
		{what: "done", text: "one\n", from: 9, whole: true, records: 9, end: true},
		{what: "of another crawl", text: "one\n", crawl: "other", records: 3},
		{what: "standard input", text: "one\n", file: "-", records: 3},
		{what: "grown", text: "one\ntwo\n", from: 9, records: 12, end: true},
		{what: "another file", text: "1\n", records: 1, end: true},
	} {
		if was, _ := os.ReadFile(name); string(was) != step.text { // rewritten, it would be another file
			if err := os.WriteFile(name, []byte(step.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, from, whole := j.Begin(cmp.Or(step.file, name), step.crawl)
		if from != step.from || whole != step.whole {
			t.Errorf("%s: got %d, %v; want %d, %v", step.what, from, whole, step.from, step.whole)
		}
		if err := errors.Join(p.Checkpoint(step.records), p.End(step.end), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJournalTorn: a last line that was cut off is as if it weren't there, and the
// next one is not lost with it.
func TestJournalTorn(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	line := `{"file":"/x","crawl":"c","size":1,"records":5,"whole":true}`
	err := errors.Join(os.WriteFile(filepath.Join(dir, "imports.jsonl"), []byte(line+"\n"+line[:20]), 0o600), os.WriteFile(log, []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 2} {
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.done) != want || j.done[journalKey{"/x", "c"}].Records != 5 {
			t.Errorf("got %v; want %d whole lines", j.done, want)
		}
		p, _, _ := j.Begin(log, "c")
		if err := errors.Join(p.End(true), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

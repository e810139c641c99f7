package transfer

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJournal plays imports of one file as it changes.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "crawl.log")
	page := func(n int) string { return strings.Repeat(fmt.Sprintf("%d ", n), markBytes) }
	for _, step := range []struct {
		what, text, file, crawl, how string
		from                         int64
		whole                        bool
		records                      int64 // at the end of this import
		end                          bool  // it came to the end of the file
	}{
		{what: "new", text: "one\n", records: 7},
		{what: "broken off", text: "one\n", from: 7, records: 3},
		{what: "broken off before it came there", text: "one\n", from: 7, records: 9, end: true},
		{what: "done", text: "one\n", from: 9, whole: true, records: 9, end: true},
		{what: "of another crawl", text: "one\n", crawl: "other", records: 3},
		{what: "in another way", text: "one\n", how: "all", records: 10, end: true},
		{what: "standard input", text: "one\n", file: "-", records: 3},
		{what: "grown", text: "one\ntwo\n", from: 9, records: 12, end: true},
		{what: "grown, in another way", text: "one\ntwo\n", how: "all", from: 10, records: 13, end: true},
		{what: "another file", text: "1\n", records: 1, end: true},
		{what: "another one that is larger", text: "2\n2\n", records: 2, end: true},
		{what: "a long one", text: "2\n2\n" + page(1) + page(3), from: 2, records: 3, end: true},
		{what: "with more in between", text: "2\n2\n" + page(1) + page(2) + page(3), records: 4, end: true},
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
		p, from, whole := j.Begin(cmp.Or(step.file, name), step.crawl, cmp.Or(step.how, "fetched"), false)
		if from != step.from || whole != step.whole {
			t.Errorf("%s: got %d, %v; want %d, %v", step.what, from, whole, step.from, step.whole)
		}
		if err := errors.Join(p.Checkpoint(step.records), p.End(step.end), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJournalTorn: a last line that was cut off, and a run of zeros such as a power cut leaves, are as if
// they weren't there, and the next lines are not lost with them.
func TestJournalTorn(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	line := `{"file":"/x","crawl":"c","size":1,"records":5,"whole":true}`
	err := errors.Join(os.WriteFile(filepath.Join(dir, "imports.jsonl"), []byte(strings.Repeat("\x00", 2*maxEntry)+"\n"+line+"\n"+line[:20]), 0o600), os.WriteFile(log, []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 2} {
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.done) != want || j.done[journalKey{"/x", "c", ""}].Records != 5 {
			t.Errorf("got %v; want %d whole lines", j.done, want)
		}
		p, _, _ := j.Begin(log, "c", "all", false)
		if err := errors.Join(p.End(true), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJournalOfOld checks that a journal of an older program is ignored. Its lines do not record the
// options of the import, so records may be missing that are selected now.
func TestJournalOfOld(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(log, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	modified, err := info.ModTime().UTC().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"file":%q,"crawl":"c","size":2,"modified":%s,"records":1,"whole":true}`+"\n", log, modified)
	if err := os.WriteFile(filepath.Join(dir, "imports.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, from, whole := j.Begin(log, "c", "all", false); from != 0 || whole {
		t.Errorf("got %d, %v; want all of it read again", from, whole)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
)

// wildFiles writes the files of the transcripts of package logs into a directory, and returns their names by the flags that
// read them.
func wildFiles(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	n := 0
	datadriven.Walk(t, "../internal/logs/testdata/wild", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text, flags := d.Input+"\n", ""
			for _, flag := range [][2]string{{"base", "--base"}, {"scheme", "--scheme"}, {"field", "--url-field"}} {
				if d.HasArg(flag[0]) {
					var value string
					d.ScanArgs(t, flag[0], &value)
					flags += " " + flag[1] + " " + value
				}
			}
			if d.HasArg("utf16") || d.HasArg("cr") || d.HasArg("mark") { // the reader's own tests have them
				return d.Expected
			}
			if d.HasArg("tabs") {
				text = strings.ReplaceAll(text, "|", "\t")
			}
			if d.HasArg("blank") {
				text = " " + text
			}
			n++
			name := filepath.Join(dir, fmt.Sprintf("%03d", n))
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			files[flags] = append(files[flags], name)
			return d.Expected
		})
	})
	if n < 170 {
		t.Fatalf("got %d files; want those of all transcripts", n)
	}
	return files
}

var unread = regexp.MustCompile(`cannot (?:read|import[^;:]*:) (?:cannot read )?(\S+?);`)

// TestWildFilesMeanTheSame reads the files as tools and people make them by uniq, replay and import: each says the same of every
// file, down to the units, the URLs and which cannot be read.
func TestWildFilesMeanTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("reads each file by three commands")
	}
	db := filepath.Join(t.TempDir(), "db")
	for flags, names := range wildFiles(t, t.TempDir()) {
		do := func(command string, args ...string) (out, errOut string) {
			args = append(append([]string{command}, args...), strings.Fields(flags)...)
			status, out, errOut := runWhole(t, append(args, names...)...)
			if status > statusRefused {
				t.Fatalf("%v: got status %d, %s", args, status, errOut)
			}
			return out, errOut
		}
		failed := func(errOut string) (list []string) {
			for _, m := range unread.FindAllStringSubmatch(errOut, -1) {
				list = append(list, filepath.Base(m[1]))
			}
			slices.Sort(list)
			return slices.Compact(list)
		}
		printed, said := do("uniq", "--events", "all", "--counts-json")
		uniqFailed := failed(said)
		var uniq struct {
			Read, Printed, Duplicates, Refused int
			Inputs                             []struct {
				Input      string
				Refused    int
				RefusedFor map[string]int `json:"refused_for"`
				Units      logs.Counts
			}
		}
		if err := json.Unmarshal([]byte(lineWith(said, `{"read"`)), &uniq); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		refused := 0
		for _, in := range uniq.Inputs {
			reasons := 0
			for _, n := range in.RefusedFor {
				reasons += n
			}
			if refused += in.Refused; reasons != in.Refused {
				t.Errorf("%q: %s: got %d refused, and %d with a reason (%v); want as many", flags, in.Input, in.Refused, reasons, in.RefusedFor)
			}
		}
		if refused != uniq.Refused || uniq.Read != uniq.Printed+uniq.Duplicates+uniq.Refused {
			t.Errorf("%q: got %d read, %d printed, %d duplicates, %d refused (%d by input); want a sum", flags, uniq.Read, uniq.Printed, uniq.Duplicates, uniq.Refused, refused)
		}
		out, said := do("replay", "--events", "all", "--json")
		var replay struct {
			Unique int
			Inputs []struct {
				Input         string
				URLs, Refused int64
				Units         logs.Counts
			}
		}
		if err := json.Unmarshal([]byte(out), &replay); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := failed(said); !slices.Equal(got, uniqFailed) {
			t.Errorf("%q: replay cannot read %v; uniq cannot read %v", flags, got, uniqFailed)
		}
		out, said = do("import", "--db", db, "--crawl", "crawl"+flags, "--links", "--status", "all", "--json")
		if got := failed(said); !slices.Equal(got, uniqFailed) {
			t.Errorf("%q: import cannot read %v; uniq cannot read %v", flags, got, uniqFailed)
		}
		imported := map[string]transfer.Counts{}
		recorded := 0
		for in := json.NewDecoder(strings.NewReader(out)); in.More(); {
			var f importedFile
			if err := in.Decode(&f); err != nil {
				t.Fatal(err)
			}
			imported[f.File] = f.Counts
			recorded += int(f.New)
		}
		if lines := strings.Count(printed, "\n"); recorded != uniq.Printed || replay.Unique != uniq.Printed || lines != uniq.Printed {
			t.Errorf("%q: uniq printed %d URLs and says %d, replay counts %d, import recorded %d; want the same", flags, lines, uniq.Printed, replay.Unique, recorded)
		}
		for i, in := range uniq.Inputs {
			if slices.Contains(uniqFailed, filepath.Base(in.Input)) {
				continue
			}
			text, _ := os.ReadFile(in.Input)
			other, c := replay.Inputs[i].Units, imported[in.Input]
			if got, want := asJSON(other), asJSON(in.Units); got != want || replay.Inputs[i].Input != in.Input {
				t.Errorf("replay of\n%s: got %s; want %s", text, got, want)
			}
			if u, w := c.Units, in.Units; u.Units != w.Units || u.Refused != w.Refused || u.Read+u.Other != w.Read+w.Other || c.Unreadable != w.Refused {
				t.Errorf("import of\n%s: got %s; want %s", text, asJSON(u), asJSON(w))
			}
			if urls := replay.Inputs[i].URLs + replay.Inputs[i].Refused - in.Units.Refused; c.New+c.Known+c.Refused != urls {
				t.Errorf("import of\n%s: got %+v; want %d URLs", text, c, urls)
			}
		}
	}
}

func lineWith(text, beginning string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, beginning) {
			return line
		}
	}
	return ""
}

func asJSON(v any) string {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v)
	return strings.TrimSpace(b.String())
}

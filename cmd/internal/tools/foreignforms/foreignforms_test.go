package foreignforms

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// decode undoes the encoding that the name of a table states.
func decode(f File) string {
	switch {
	case strings.Contains(f.Name, "/latin1"):
		var b strings.Builder
		for _, c := range f.Data {
			b.WriteRune(rune(c))
		}
		return b.String()
	case strings.Contains(f.Name, "/utf16"):
		units := make([]uint16, len(f.Data)/2)
		for i := range units {
			units[i] = uint16(f.Data[2*i]) | uint16(f.Data[2*i+1])<<8
			if strings.Contains(f.Name, "/utf16be") {
				units[i] = units[i]>>8 | units[i]<<8
			}
		}
		return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
	}
	return strings.TrimPrefix(string(f.Data), "\ufeff")
}

func TestFilesAreTheSameForOneSeed(t *testing.T) {
	if !reflect.DeepEqual(Files(7, 300), Files(7, 300)) {
		t.Error("two calls with one seed differ")
	}
	if reflect.DeepEqual(Files(7, 300), Files(8, 300)) {
		t.Error("two seeds give the same files")
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Files(1, 3000) {
		if seen[f.Name] {
			t.Errorf("%s occurs twice", f.Name)
		}
		seen[f.Name] = true
	}
}

// TestWant checks what holds for every file: each URL is absolute, no decoy, and unlike the others even without its query;
// its text, or the path of one that was put together, occurs in the file.
func TestWant(t *testing.T) {
	for _, f := range Files(2, 3000) {
		text := strings.ReplaceAll(decode(f), `\u0026`, "&")
		if f.Want == nil && f.Telling {
			t.Errorf("%s: Telling without a URL", f.Name)
		}
		if f.Why == "" {
			t.Errorf("%s: no Why", f.Name)
		}
		var paths []string
		for _, want := range f.Want {
			u, err := url.Parse(want)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "decoy.example" || u.Host == "" || u.Host == "-" {
				t.Errorf("%s: wants %q", f.Name, want)
				continue
			}
			if u.Host == "base.example" && f.Flags == nil {
				t.Errorf("%s: wants %s without --base", f.Name, want)
			}
			path := strings.TrimPrefix(want, u.Scheme+"://"+u.Host)
			path, _, _ = strings.Cut(path, "?") // some logs have the query before the path
			written := path
			if strings.HasPrefix(f.Name, "table/") && f.Flags == nil {
				written = want
			}
			if !strings.Contains(text, written) {
				t.Errorf("%s: %q is not in the file", f.Name, written)
			}
			paths = append(paths, path)
		}
		slices.Sort(paths)
		if len(slices.Compact(paths)) != len(f.Want) {
			t.Errorf("%s: two URLs differ by no more than their query", f.Name)
		}
	}
}

// TestTablesRead reads the tables with encoding/csv, told their separator, and compares the column of the URL with Want.
func TestTablesRead(t *testing.T) {
	column := regexp.MustCompile(`/col(\d+)/`)
	read := 0
	for _, f := range Files(3, 4000) {
		m := column.FindStringSubmatch(f.Name)
		if m == nil || f.Want == nil || strings.Contains(f.Name, "/backslash/") {
			continue
		}
		at, _ := strconv.Atoi(m[1])
		text := decode(f)
		if strings.Contains(f.Name, "/cr/") {
			text = strings.ReplaceAll(text, "\r", "\n")
		}
		if strings.Contains(f.Name, "/tab/unquoted/") { // quotes are plain characters
			text = `"` + strings.NewReplacer(`"`, `""`, "\t", "\"\t\"", "\r\n", "\"\n\"", "\n", "\"\n\"").Replace(text) + `"`
		}
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		for name, sep := range map[string]rune{"comma": ',', "semicolon": ';', "pipe": '|', "tab": '\t'} {
			if strings.Contains(f.Name, "/"+name+"/") {
				r.Comma = sep
			}
		}
		records, err := r.ReadAll()
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		var got []string
		for _, cells := range records {
			if len(cells) < at {
				continue
			}
			cell := strings.TrimSpace(cells[at-1])
			switch {
			case f.Flags != nil && strings.HasPrefix(cell, "/"):
				got = append(got, strings.TrimSuffix(f.Flags[1], "/")+cell)
			case strings.HasPrefix(cell, "http"):
				got = append(got, cell)
			}
		}
		if !slices.Equal(got, f.Want) {
			t.Errorf("%s: column %d has\n%s\nwant\n%s\nin\n%s", f.Name, at, fmt.Sprint(got), fmt.Sprint(f.Want), text)
		}
		read++
	}
	if read < 1000 {
		t.Errorf("read %d tables", read)
	}
}

// TestEveryForm checks that a few thousand files show every form.
func TestEveryForm(t *testing.T) {
	shown := map[string]bool{}
	for _, f := range Files(4, 5000) {
		shown[strings.Split(f.Name, "/")[1]] = true
	}
	for _, e := range exports {
		if !shown[e.name] {
			t.Errorf("no table %s", e.name)
		}
	}
	for _, f := range logForms {
		if !shown[f.name] {
			t.Errorf("no log %s", f.name)
		}
	}
}

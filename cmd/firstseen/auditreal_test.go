package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
)

// realLogs are the directories of the logs of real crawls with digests.
var realLogs = []string{"cdx", "cdxj", "ccindex", "heritrix", "warc"}

// realVerdicts are what the audit finds in them: merges, then same, redirect, different,
// volatile, error and no digest. docs/RESULTS.md has some of them.
var realVerdicts = map[string][7]int{
	"drop-query":           {434, 11, 1, 392, 13, 0, 17},
	"default-port":         {8, 2, 0, 0, 2, 0, 4},
	"strip-www":            {73, 46, 12, 2, 2, 3, 8},
	"fold-https":           {22, 10, 3, 1, 2, 0, 6},
	"lowercase-path":       {2, 2, 0, 0, 0, 0, 0},
	"collapse-slashes":     {2, 0, 0, 0, 1, 1, 0},
	"strip-trailing-slash": {14, 0, 10, 0, 1, 1, 2},
	"strip-userinfo":       {3, 1, 0, 0, 0, 0, 2},
	"strip-index":          {27, 4, 0, 21, 0, 0, 2},
	"empty-path":           {9, 1, 0, 0, 4, 0, 4},
	"always":               {21, 2, 0, 0, 9, 0, 10},
	"profile qiita":        {23, 2, 0, 0, 10, 1, 10},
	"eager":                {228, 25, 113, 53, 7, 3, 27},
	"surt":                 {132, 58, 28, 3, 10, 3, 30},
}

// TestAuditOfRealLogs compares the audit of the logs of real crawls with earlier results. The
// licences of the logs keep them out of this repository.
func TestAuditOfRealLogs(t *testing.T) {
	shared := sharedDir(t)
	a := &app{in: os.Stdin, out: io.Discard, err: io.Discard}
	log := audit.NewLog()
	read := 0
	for _, dir := range realLogs {
		names, err := filepath.Glob(filepath.Join(shared, "logs", dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			if err := a.loadFile(t.Context(), &judged{log: log, profile: canon.Qiita(), files: &fileSet{stdin: a.in}}, name, ""); err != nil {
				t.Logf("up to its fault: %v", err) // the collection has files that are cut short
			}
			read++
		}
	}
	if read == 0 {
		t.Skipf("no logs in %s", shared)
	}
	r, err := audit.Run(t.Context(), log, audit.Request{Profile: canon.Qiita()})
	if err != nil {
		t.Fatal(err)
	}
	checkReal(t, r)
}

func checkReal(t *testing.T, r *audit.Report) {
	t.Helper()
	t.Logf("%d captures of %d URLs, %d repeats", r.Captures, r.URLs, r.Repeats)
	for _, v := range r.Forms {
		if v.Merges == 0 {
			continue
		}
		got := [7]int{v.Merges, v.Outcomes[audit.Same], v.Outcomes[audit.Redirect], v.Outcomes[audit.Different], v.Outcomes[audit.Volatile], v.Outcomes[audit.Failed], v.Outcomes[audit.NoDigest]}
		if want := realVerdicts[v.Name]; got != want {
			t.Errorf("%q: %s, explains %d; want %v", v.Name, fmt.Sprintf("%#v", got)[6:], v.Explains, want)
		}
	}
}

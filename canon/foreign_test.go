package canon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// eachRow calls f for every row of every file of a vector set, and logs their number.
// The sets stand in testdata/vectors, or where FIRSTSEEN_VECTORS says.
func eachRow[T any](t *testing.T, set string, f func(t *testing.T, row T)) {
	t.Helper()
	dir := os.Getenv("FIRSTSEEN_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	files, err := filepath.Glob(filepath.Join(dir, set+"_*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skipf("no file %s_*.jsonl in %s", set, dir)
	}
	n := 0
	for _, file := range files {
		n += eachLine(t, file, f)
	}
	t.Logf("%s: %d rows", set, n)
}

// eachLine decodes each line of a JSON-lines file and returns their number.
func eachLine[T any](t *testing.T, file string, f func(t *testing.T, row T)) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, len(data)+1)
	for s.Scan() {
		n++
		var row T
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		f(t, row)
	}
	return n
}

// corpora is the files of real URLs, one a line.
var corpora = []string{"logs/urls/top100.txt.gz", "logs/urls/sites_href.txt.gz", "logs/urls/ada_kasztp.txt"}

// eachInput calls f for every input of the oracles' vectors and of the sample in the repository, and for the
// shares of those shared corpora that are here.
func eachInput(t *testing.T, f func(raw string)) {
	t.Helper()
	type row struct{ Input string }
	for _, set := range []string{"crawl", "c14n", "hashed_uri"} {
		t.Run(set, func(t *testing.T) { eachRow(t, set, func(_ *testing.T, r row) { f(r.Input) }) })
	}
	if testing.Short() {
		return
	}
	for _, raw := range sample(t) {
		f(string(raw))
	}
	for _, name := range corpora {
		t.Run(filepath.Base(name), func(t *testing.T) {
			urls := corpusShare(t, name)
			for _, raw := range urls {
				f(string(raw))
			}
			t.Logf("%d URLs", len(urls))
		})
	}
}

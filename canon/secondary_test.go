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

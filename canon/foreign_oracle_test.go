package canon

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// oracleRow is a row of testdata/oracles: what a real tool answered. See the README there.
type oracleRow struct {
	Input     string
	InputHex  string `json:"input_hex"`
	Output    string
	OutputHex string `json:"output_hex"`
	Error     string
}

func (r *oracleRow) decode(t *testing.T) {
	for _, f := range []struct {
		hex  string
		text *string
	}{{r.InputHex, &r.Input}, {r.OutputHex, &r.Output}} {
		if f.hex != "" {
			b, err := hex.DecodeString(f.hex)
			if err != nil {
				t.Fatal(err)
			}
			*f.text = string(b)
		}
	}
}

// checkOracle compares a profile with every row of a tool, in testdata/oracles or where
// FIRSTSEEN_ORACLES says. Rows for which except returns a name are counted, not compared.
func checkOracle(t *testing.T, tool string, p *Profile, except func(r oracleRow) string) {
	dir := os.Getenv("FIRSTSEEN_ORACLES")
	if dir == "" {
		dir = filepath.Join("testdata", "oracles")
	}
	files, err := filepath.Glob(filepath.Join(dir, tool+"_*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got no file %s_*.jsonl in %s (%v); want one", tool, dir, err)
	}
	n, excepted := 0, map[string]int{}
	for _, file := range files {
		n += eachLine(t, file, func(t *testing.T, r oracleRow) {
			r.decode(t)
			if name := except(r); name != "" {
				excepted[name]++
				return
			}
			got, err := p.Canonicalize(r.Input)
			if got != r.Output || (err != nil) != (r.Error != "") {
				t.Errorf("%q: got %q, %v; want %q, error %q", r.Input, got, err, r.Output, r.Error)
			}
		})
	}
	t.Logf("%s: %d rows, exceptions %v", tool, n, excepted)
}

func noException(oracleRow) string { return "" }

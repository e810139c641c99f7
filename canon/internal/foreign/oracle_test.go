package foreign

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
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

// checkOracle compares a form with every row of a tool, in testdata/oracles of package canon or where
// FIRSTSEEN_ORACLES says. Rows for which except returns a name are counted, not compared.
func checkOracle(t *testing.T, tool string, form func(string) (string, error), except func(r oracleRow) string) {
	dir := os.Getenv("FIRSTSEEN_ORACLES")
	if dir == "" {
		dir = filepath.Join("..", "..", "testdata", "oracles")
	}
	files, err := filepath.Glob(filepath.Join(dir, tool+"_*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got no file %s_*.jsonl in %s (%v); want one", tool, dir, err)
	}
	n, excepted := 0, map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for rows := json.NewDecoder(bytes.NewReader(data)); rows.More(); n++ {
			var r oracleRow
			if err := rows.Decode(&r); err != nil {
				t.Fatalf("%s, row %d: %v", file, n+1, err)
			}
			r.decode(t)
			if name := except(r); name != "" {
				excepted[name]++
				continue
			}
			got, err := form(r.Input)
			if got != r.Output || (err != nil) != (r.Error != "") {
				t.Errorf("%q: got %q, %v; want %q, error %q", r.Input, got, err, r.Output, r.Error)
			}
		}
	}
	t.Logf("%s: %d rows, exceptions %v", tool, n, excepted)
}

func noException(oracleRow) string { return "" }

func TestScrapyIsW3lib(t *testing.T) { checkOracle(t, "scrapy", Scrapy, noException) }

func TestSafeBrowsingExamples(t *testing.T) {
	checkOracle(t, "safebrowsing", SafeBrowsing, noException)
}

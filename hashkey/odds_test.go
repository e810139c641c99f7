package hashkey

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestOddsAgainstCounting compares with the exact product for sizes where it can be computed.
func TestOddsAgainstCounting(t *testing.T) {
	for _, bits := range []int{16, 20, 24} {
		for _, n := range []uint64{0, 1, 2, 30, 300, 1000} {
			distinct := 1.0
			for i := range n {
				distinct *= 1 - math.Ldexp(float64(i), -bits)
			}
			if got, want := CollisionOdds(n, bits), 1-distinct; math.Abs(got-want) > 0.01*want+1e-12 {
				t.Errorf("%d inputs, %d bits: got %v; want %v", n, bits, got, want)
			}
		}
	}
}

func TestExpectedCollisions(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		bits int
		want string
	}{
		{1e6, 36, "7.3"}, {1e6, 32, "1.2e+02"}, {1e9, 64, "0.027"}, {2, 1, "0.5"}, {1, 8, "0"}, {0, 8, "0"},
	} {
		if got := fmt.Sprintf("%.2g", ExpectedCollisions(c.n, c.bits)); got != c.want {
			t.Errorf("%d inputs, %d bits: got %s; want %s", c.n, c.bits, got, c.want)
		}
	}
}

// TestTableInThePackageComment recomputes every figure of the table in doc.go.
func TestTableInThePackageComment(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	checked := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(strings.TrimPrefix(line, "//"))
		switch {
		case len(f) == 6 && f[0] == "bits":
			head = f
		case len(f) == 6 && head != nil:
			checked += checkOddsRow(t, head, f)
		}
	}
	if checked != 15 {
		t.Errorf("got %d figures; want 15", checked)
	}
}

func checkOddsRow(t *testing.T, head, row []string) (checked int) {
	bits, err := strconv.Atoi(row[0])
	if err != nil {
		return 0
	}
	for i := 1; i < len(row); i++ {
		n, err := strconv.ParseFloat(head[i], 64)
		if got := fmt.Sprintf("%.1e", CollisionOdds(uint64(n), bits)); err != nil || got != row[i] {
			t.Errorf("%s inputs, %d bits: the table says %s; computed %s, %v", head[i], bits, row[i], got, err)
		}
		checked++
	}
	return checked
}

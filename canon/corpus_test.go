package canon

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus reads one of the corpora, and skips the test where it is absent.
func corpus(t testing.TB, name string) [][]byte {
	t.Helper()
	dir := os.Getenv("FIRSTSEEN_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("corpus not here: %v", err)
	}
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return lines(t, data)
}

func lines(t testing.TB, data []byte) (out [][]byte) {
	t.Helper()
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, len(data)+1)
	for s.Scan() {
		if len(s.Bytes()) > 0 {
			out = append(out, bytes.Clone(s.Bytes()))
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// corpusShare is a corpus in the torture, and one URL in 32 of it in other runs, which see the sample as well.
func corpusShare(t testing.TB, name string) (share [][]byte) {
	t.Helper()
	all, every := corpus(t, name), 32
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		every = 1
	}
	for i := 0; i < len(all); i += every {
		share = append(share, all[i])
	}
	return share
}

// sample is the small corpus of the repository; see testdata/README.md.
func sample(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sample.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return lines(t, data)
}

func TestLawsOnSample(t *testing.T) { checkCorpus(t, sample(t)) }

func TestLawsOnCorpora(t *testing.T) {
	for _, name := range corpora {
		t.Run(filepath.Base(name), func(t *testing.T) { checkCorpus(t, corpusShare(t, name)) })
	}
}

// checkCorpus holds the laws, and fast equal to slow, for each URL under the preset and
// under one subset of the optional rules, another one every 16 URLs. The fixpoint
// is looked at where the canonical form differs from the input, and for every 8th URL.
func checkCorpus(t *testing.T, urls [][]byte) {
	p, one := Qiita(), Qiita()
	refused := 0
	for i, raw := range urls {
		if i%16 == 0 {
			one = subset(t, uint32(i)*0x9e3779b1)
		}
		for _, p := range []*Profile{p, one} {
			checkIdempotent(t, p, raw)
			checkFastIsSlow(t, p, raw)
		}
		canonical, err := p.AppendCanonical(nil, raw)
		if err != nil {
			refused++
		} else if i%8 == 0 || !bytes.HasPrefix(raw, canonical) {
			checkFixpoint(t, p, raw)
		}
	}
	t.Logf("%d URLs, %d refused", len(urls), refused)
}

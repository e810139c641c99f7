package canon

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// pieces are what mutants are made with: the bytes and strings that parsers stumble on.
var pieces = []string{
	"/", "//", "/.", "/..", "/./", "/../", "%2e", "%2E%2e", "..", ".", "%", "%%", "%2", "%25", "%41", "%e3%81%a6", "%C3%A9", "%2F", "%2f",
	"%7e", "%20", "%00", "%zz", "&", "&&", "=", "==", "?", "??", "#", "#!", "+", ";", "'", "\"", " ", "\t", "\n", "\r", "\\", "\x00", "\x7f", "\xff",
	"é", "日本", "\ufeff", "[", "]", "{", "|", "^", "`", "<", ">", "@", ":", ":80", ":443", ":0", ":080", "a", "Z", "0", "-", "_", "~", "!", "$", "*", ",", "(", ")",
	"www.", "xn--", "xn--wgv71a119e", "1.2.3.4", "0x7f", "0", ".com", ".1", "a=1", "a", "a=", "b%20c=1", "b+c=1", "utm_source=x", "sid=0123456789abcdef0123456789abcdef",
	";jsessionid=1", "/(S(abcdefghijklmnopqrstuvwx))", "index.html", "/index.html", "/Default.aspx", "ref=1", "http://", "HTTP", "ftp://", "https:",
}

// mutate makes one to four edits: a piece put in, a stretch cut out, doubled or moved.
func mutate(r *rand.Rand, s []byte) []byte {
	s = append([]byte(nil), s...)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(s) + 1)
		j := min(len(s), i+r.IntN(12))
		switch r.IntN(6) {
		case 0:
			s = append(s[:i:i], s[j:]...)
		case 1:
			s = append(s[:j:j], s[i:]...)
		case 2:
			k := r.IntN(len(s) + 1)
			s = append(append(s[:k:k], s[i:j]...), s[k:]...)
		default:
			piece := pieces[r.IntN(len(pieces))]
			s = append(append(s[:i:i], piece...), s[i:]...)
		}
	}
	return s
}

// TestLawsOnMutants holds the laws, and fast equal to slow, on real URLs spoilt at
// random: 10,000 of them, or FIRSTSEEN_TORTURE_N. The seed is in the log of a failure.
func TestLawsOnMutants(t *testing.T) {
	n, seed := 10_000, uint64(1)
	if text := os.Getenv("FIRSTSEEN_TORTURE_N"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("cannot read FIRSTSEEN_TORTURE_N: %v", err)
		}
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	urls := sample(t)
	one := Qiita()
	for i := range n {
		if i%64 == 0 {
			one = subset(t, r.Uint32())
		}
		raw := mutate(r, urls[r.IntN(len(urls))])
		for _, p := range []*Profile{Qiita(), one} {
			checkIdempotent(t, p, raw)
			checkFastIsSlow(t, p, raw)
			checkFixpoint(t, p, raw)
		}
		if t.Failed() {
			t.Fatalf("mutant %d of seed %d: %q", i, seed, raw)
		}
	}
}

package canon

import (
	"bytes"
	"math/rand/v2"
	"os"
)

// mutants is how many URLs with random edits each law sees in a plain test run, the same
// in every run: a fuzzer's dose without its luck.
const mutants = 8000

// eachMutant calls add with edited lawSeeds and random bits, but not for a fuzzer, which
// makes its own.
func eachMutant(add func(raw []byte, bits uint32)) {
	if os.Getenv("FIRSTSEEN_FUZZING") != "" {
		return
	}
	r := rand.New(rand.NewPCG(3986, 5849))
	for range mutants {
		add(mutant(r), r.Uint32())
	}
}

// mutant is a seed with one to four edits.
func mutant(r *rand.Rand) []byte {
	b := []byte(pick(r, lawSeeds))
	for range 1 + r.IntN(4) {
		b = edit(r, b)
	}
	return b
}

// edits are texts that a URL parser treats in a way of its own.
var edits = []string{"%", "%2", "%2e", "%2F", "%00", "%ff", "%e3%81%a6", ".", "..", "/", "//", "\\", ":", "@", "[", "]", "[::1]", "?", "&", "=", "#", ";", "+", " ",
	"\t", "\n", "\x00", "\x7f", "\xff", "'", "\"", "`", "|", "^", "{", "<", "xn--", "日", "ß", "İ", "\u200d", "\u00ad", "\u0301", "。", "０", "0x", "08", "256", "www.",
	"index.html", "utm_a=1", "sid=0123456789abcdef0123456789abcdef", ";jsessionid=1", "&amp;", "amp;", "&#38;", "&#x26;", "(X(1))", "(4hqa0555fwsecu455xqckv45)", ".aspx", "a=2&a=1", "u@", "#!a", "a[]=1", "localhost", "http:", "ftp:", "mailto:"}

func edit(r *rand.Rand, b []byte) []byte {
	at := r.IntN(len(b) + 1)
	end := at + r.IntN(min(len(b)-at, 8)+1)
	switch r.IntN(6) {
	case 0, 1, 2: // insert
		return splice(b, at, at, pick(r, edits))
	case 3: // delete
		return splice(b, at, end, "")
	case 4: // repeat
		return splice(b, at, at, string(b[at:end]))
	default: // put the end of another URL here
		other := pick(r, lawSeeds)
		return splice(b, at, len(b), other[r.IntN(len(other)+1):])
	}
}

func splice(b []byte, from, to int, with string) []byte {
	return bytes.Join([][]byte{b[:from], []byte(with), b[to:]}, nil)
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

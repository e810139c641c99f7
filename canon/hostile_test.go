package canon

import (
	"fmt"
	"strings"
	"testing"
)

// hostile makes URLs of about n bytes that one canonicalizer or another takes
// quadratic time for, or more memory than they deserve.
func hostile(n int) map[string]string {
	fill := func(prefix, unit, suffix string) string {
		return prefix + strings.Repeat(unit, max(1, (n-len(prefix)-len(suffix))/len(unit))) + suffix
	}
	return map[string]string{
		"plain path":        fill("http://h/", "abcdefgh", ""),
		"parameters":        fill("http://h/?", "b=1&a=2&", "c"),
		"descending":        "http://h/?" + descending(n-10),
		"equal parameters":  fill("http://h/?", "a%40=1&a@=1&", ""),
		"ampersands":        fill("http://h/?", "&", ""),
		"dot dot":           fill("http://h/", "a/../", ""),
		"deep then up":      fill("http://h/", "a/", "") + fill("", "../", ""),
		"only up":           fill("http://h/", "../", ""),
		"slashes":           fill("http://h/", "/", "x"),
		"escapes":           fill("http://h/", "%41%c3%a9", ""),
		"stray percents":    fill("http://h/", "%", ""),
		"raw UTF-8":         fill("http://h/", "é", ""),
		"bad UTF-8":         fill("http://h/", "\xff", ""),
		"at signs":          fill("http://", "@", "h/"),
		"user":              fill("http://", "u", "@h/"),
		"long host":         fill("http://", "a.", "com/"),
		"one label":         fill("http://", "a", "/"),
		"Unicode label":     fill("http://", "é", "/"),
		"Unicode labels":    fill("http://", "é.", "com/"),
		"distinct letters":  "http://" + han(n) + "/",
		"punycode":          fill("http://xn--", "a", "/"),
		"dots":              fill("http://", ".", "/"),
		"digits":            fill("http://", "1", "/"),
		"port":              fill("http://h:", "0", "80/"),
		"brackets":          fill("http://[", ":", "]/"),
		"newlines":          fill("http://h/", "\n", ""),
		"backslashes":       fill("http:", `\`, "h/"),
		"blanks":            fill("", " ", "http://h/"),
		"sessions":          fill("http://h/", ";jsessionid=1", ""),
		"indexes":           fill("http://h/", "index.html/", ""),
		"www":               fill("http://", "www.", "a.b/"),
		"scheme":            fill("", "h", "://h/"),
		"opaque":            fill("mailto:", "a@", "b"),
		"other authority":   fill("x://", "u@", "h/"),
		"bad other host":    fill("x://h", "\x91", "/"),
		"data":              fill("data:image/png;base64,", "iVBOR/AA", ""),
		"script":            fill("javascript:", "f();", ""),
		"fragment":          fill("http://h/#", "%41 ", ""),
		"query with quotes": fill("http://h/?", "'=", ""),
	}
}

// descending is parameters in falling order, the worst for a sort by insertion.
func descending(n int) string {
	var b strings.Builder
	for i := 99_999_999; b.Len() < n; i-- {
		b.WriteString("k")
		b.WriteString(strings.Repeat("0", 2))
		for d := 10_000_000; d > 0; d /= 10 {
			b.WriteByte(byte('0' + i/d%10))
		}
		b.WriteString("=1&")
	}
	return b.String()
}

// han is a label of letters all distinct, as far as they go.
func han(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteRune(rune(0x4e00 + i%20000))
	}
	return b.String()
}

// nineDomains is a profile with more entries for domains than a map compares one by one.
func nineDomains(t testing.TB) *Profile {
	t.Helper()
	var sites, params []string
	for i := range 9 {
		sites = append(sites, fmt.Sprintf(`{"host": "*.d%d.com", "rules": ["+fold-https"]}`, i))
		params = append(params, fmt.Sprintf(`{"host": "*.d%d.com", "drop": ["ref"]}`, i))
	}
	file := `{"sites": [` + strings.Join(sites, ",") + `], "params": [` + strings.Join(params, ",") + `]}`
	p, err := Qiita().With(WithRuleFile(strings.NewReader(file)), WithMaxLength(1<<24))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHostileInput wants an answer, a canonical form that keeps the laws or an error,
// at any length; at 1 MiB the laws are looked at under the preset only.
func TestHostileInput(t *testing.T) {
	lengths := []int{100, 10_000, DefaultMaxLength - 100}
	if testing.Short() {
		lengths = lengths[:1]
	}
	for _, n := range lengths {
		for name, raw := range hostile(n) {
			t.Run(name, func(t *testing.T) {
				checkIdempotent(t, Qiita(), []byte(raw))
				checkIdempotent(t, nineDomains(t), []byte(raw))
				if n <= 10_000 {
					checkFastIsSlow(t, Qiita(), []byte(raw))
					checkFastIsSlow(t, subset(t, ^uint32(0)), []byte(raw))
					checkIdempotent(t, subset(t, ^uint32(0)), []byte(raw))
				}
				_, _ = WHATWG().Canonicalize(raw)
			})
		}
	}
}

// TestLongOpaqueURLsAreOfAnotherScheme: not too long, for reports that count by reason.
func TestLongOpaqueURLsAreOfAnotherScheme(t *testing.T) {
	for _, name := range []string{"data", "script", "opaque"} {
		if _, err := Qiita().Canonicalize(hostile(100_000)[name]); Code(err) != "scheme" {
			t.Errorf("%s: got %v; want code scheme", name, err)
		}
	}
}

// BenchmarkHostile shows CPU time per byte, which must not grow with the length.
func BenchmarkHostile(b *testing.B) {
	p, err := Qiita().With(WithMaxLength(1 << 24))
	if err != nil {
		b.Fatal(err)
	}
	benchHostile(b, p)
}

// BenchmarkHostileDomains is the same with entries for domains in a rule file.
func BenchmarkHostileDomains(b *testing.B) { benchHostile(b, nineDomains(b)) }

func benchHostile(b *testing.B, p *Profile) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		for name, raw := range hostile(n) {
			b.Run(strings.ReplaceAll(name, " ", "-")+"/"+map[int]string{1_000: "1kB", 10_000: "10kB", 100_000: "100kB", 1_000_000: "1MB"}[n], func(b *testing.B) {
				dst := make([]byte, 0, 3*n+100)
				text := []byte(raw)
				start := cpuTime()
				for b.Loop() {
					dst, _ = p.AppendCanonical(dst[:0], text)
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/float64(len(raw)), "ns/byte")
			})
		}
	}
}

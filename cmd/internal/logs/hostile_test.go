package logs

import (
	"runtime"
	"testing"
)

// TestHostileTextsTakeLittleMemory reads 256 MiB of what would have to be held whole: a text,
// a tag, elements that never end, columns, JSON. What is allocated at a time must stay
// far below that.
func TestHostileTextsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	const size = 256 << 20
	wat := "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"
	for name, c := range map[string]struct{ head, unit string }{
		"location without an end": {"<urlset><url><loc>", "x"},
		"tag without an end":      {"<urlset><", "x"},
		"comment without an end":  {"<urlset><!--", "x"},
		"attributes":              {"<urlset><url", " a='b'"},
		"elements in elements":    {"<urlset>", "<a>"},
		"columns of a W3C log":    {"#Fields: cs-uri-stem", " x"},
		"links of a WAT record":   {wat + `{"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{"HTML-Metadata":{"Links":[{}`, ",{}"},
		"depth of a WAT record":   {wat + `{"Envelope":`, `{"a":`},
		"text of a WAT record":    {wat + `{"Envelope":"`, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Open(t.Context(), "-", repeated(c.head, c.unit, size/len(c.unit)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			records := records(f, Options{}, nil)
			failed := false
			for _, err := range records {
				failed = failed || err != nil
			}
			runtime.ReadMemStats(&after)
			if n := after.HeapSys - min(after.HeapSys, before.HeapSys); n > 200<<20 {
				t.Errorf("the heap grew by %d MiB; want at most 200", n>>20)
			}
			if !failed {
				t.Error("got no error")
			}
		})
	}
}

package logs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckJSON(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{`{"url":"http://a.example/café"}`, true},
		{`"\ud83d\ude00"`, true},
		{`"\uD83D\uDE00 \\udce9 \u00e9\uFFFD"`, true},
		{`"\\\\udce9"`, true},
		{"\"caf\xe9\"", false},
		{`"caf\udce9"`, false},
		{`"\\\udce9"`, false},
		{`"\ud83d"`, false},
		{`"\ud83d\\ude00"`, false},
		{`"\ud83dx\ude00"`, false},
		{`"\ude00\ud83d"`, false},
		{`"\ud83d\ud83d\ude00"`, false},
		{`\`, true}, // broken JSON is for others to refuse
		{`"\ud83`, true},
	} {
		if err := CheckJSON([]byte(c.text)); (err == nil) != c.ok {
			t.Errorf("%s: got %v; want ok %v", c.text, err, c.ok)
		}
	}
}

// FuzzCheckJSON compares with encoding/json: a text is refused if and only if the
// decoder replaces something in it.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`"a"`, "\"\xe9\"", `"\udce9"`, `"\ud83d\ude00"`, `"\\udce9"`, `"\ud83d\ud83d\ude00"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s string
		if json.Unmarshal(text, &s) != nil {
			return
		}
		given := strings.Count(string(text), "\uFFFD") + strings.Count(strings.ToLower(string(text)), `\ufffd`)
		decoded := strings.Count(s, "\uFFFD")
		if strings.Contains(strings.ToLower(string(text)), `\\ufffd`) {
			return // not counted rightly
		}
		if err := CheckJSON(text); (err == nil) != (decoded == given) {
			t.Errorf("%q: got %v; the decoder makes %d U+FFFD of %d, UTF-8 %v", text, err, decoded, given, utf8.Valid(text))
		}
	})
}

// FuzzFields compares the fields of objects with those that encoding/json finds.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b" : {"c":[1,",}"]} , "a\\"":"x\\\\","a":null}`, ` { "\u0061" : [ { } ] }`, `[1]`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got fields
		var want map[string]json.RawMessage
		err := json.Unmarshal(text, &want)
		if e := json.Unmarshal(text, &got); (e == nil) != (err == nil && want != nil) {
			t.Fatalf("%q: got %v; want %v", text, e, err)
		} else if e != nil {
			return
		}
		for name, raw := range want {
			if string(got[name]) != string(raw) && !strings.Contains(name, "\uFFFD") {
				t.Errorf("%q: got %q for %q; want %q", text, got[name], name, raw)
			}
		}
		if len(got) != len(want) && utf8.Valid(text) {
			t.Errorf("%q: got %d fields; want %d", text, len(got), len(want))
		}
	})
}

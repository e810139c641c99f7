package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// promised is what the test reads of openapi.json.
type promised struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name     string
			Required bool
			Schema   promise
		}
		RequestBody struct {
			Content map[string]struct{ Schema promise }
		}
		Responses map[string]struct{ Content map[string]any }
	}
	Components struct{ Schemas map[string]promise }
}

// promise is a schema.
type promise struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Pattern    string
	Nullable   bool
	MaxLength  int
	Minimum    *float64
	Maximum    *float64
	Enum       []any
	Required   []string
	Properties map[string]promise
	Items      *promise
	AllOf      []promise
	Additional json.RawMessage `json:"additionalProperties"`
}

// resolved returns the schema that a reference names.
func (p *promised) resolved(s promise) promise {
	if len(s.AllOf) == 1 && s.AllOf[0].Ref != "" {
		to := p.resolved(s.AllOf[0])
		to.Nullable = s.Nullable
		return to
	}
	if s.Ref != "" {
		return p.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	return s
}

// least returns the smallest value that a schema allows.
func (p *promised) least(s promise) any {
	s = p.resolved(s)
	switch {
	case strings.HasPrefix(s.Pattern, "^[0-9a-f]{32}"):
		return strings.Repeat("0", 32)
	case strings.HasPrefix(s.Pattern, "^[1-9]"):
		return "1"
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Format == "date-time":
		return "2000-01-01T00:00:00Z"
	case s.Format == "byte":
		return "eA=="
	case s.Type == "string":
		return "http://a.example/"
	case s.Type == "boolean":
		return false
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		o := map[string]any{}
		for _, name := range s.Required {
			o[name] = p.least(s.Properties[name])
		}
		return o
	}
	return 1
}

// beyond returns values that a schema refuses, by what is wrong with them.
func (p *promised) beyond(s promise) map[string]any {
	s = p.resolved(s)
	bad := map[string]any{}
	if s.MaxLength > 0 {
		bad["too long"] = strings.Repeat("x", s.MaxLength+1)
	}
	if s.Minimum != nil {
		bad["too small"] = *s.Minimum - 1
	}
	if s.Maximum != nil {
		bad["too large"] = *s.Maximum + 1
	}
	if len(s.Enum) > 0 {
		bad["none of them"], bad["empty"] = "nonesuch", ""
	}
	if s.Format == "date-time" {
		bad["no time"] = "monday"
	}
	return bad
}

// TestSchemaIsHeld sends to each operation what openapi.json does not allow, one thing at a time in a request that is
// otherwise as small as can be, and requires an answer of the client's fault that openapi.json has.
func TestSchemaIsHeld(t *testing.T) {
	var doc promised
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	s := start(t, canon.Qiita(), Config{})
	sent := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			refused := func(what, field, query, body string) {
				t.Helper()
				sent++
				code, answer := s.ask(t, strings.ToUpper(method), path+"?"+query, body)
				if _, ok := op.Responses[code]; !ok || !strings.HasPrefix(code, "4") || !strings.Contains(answer, field) {
					t.Errorf("%s %s, %s of %s: got %s %.200s; want it refused, as openapi.json has it, by its name\n%.200s %.200s", method, path, what, field, code, answer, query, body)
				}
			}
			least := url.Values{}
			for _, q := range op.Parameters {
				if q.Required {
					least.Set(q.Name, fmt.Sprint(doc.least(q.Schema)))
				}
			}
			for _, q := range op.Parameters {
				bad := doc.beyond(q.Schema)
				if q.Schema.Type == "integer" {
					bad["no number"], bad["empty"], bad["a fraction"] = "x", "", "1.5"
				}
				for what, value := range bad {
					query := maps.Clone(least)
					query.Set(q.Name, asParameter(value))
					refused(what, q.Name, query.Encode(), "")
				}
				if q.Schema.Type != "array" {
					query := maps.Clone(least)
					query[q.Name] = []string{asParameter(doc.least(q.Schema)), asParameter(doc.least(q.Schema))}
					refused("two", q.Name, query.Encode(), "")
				}
				if q.Required {
					refused("none", q.Name, "", "")
				}
			}
			if strings.HasPrefix(path, "/v1/") {
				refused("an unknown parameter", "nonesuch", least.Encode()+"&nonesuch=1", "")
				refused("half an escape", "%z", least.Encode()+"&x=%z", "")
			}
			if body, ok := op.RequestBody.Content["application/json"]; ok {
				doc.refusedInside(doc.resolved(body.Schema), func(what, field string, v any) {
					text, err := json.Marshal(v)
					if err != nil {
						t.Fatal(err)
					}
					refused(what, field, least.Encode(), string(text))
				})
				refused("null", "null", least.Encode(), "null")
			}
		}
	}
	if sent < 200 {
		t.Errorf("sent %d requests; want more, or the test reads nothing", sent)
	}
}

// asParameter returns a value as text.
func asParameter(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// refusedInside calls send with objects that a schema refuses, each with one thing wrong in it or in an object inside.
func (p *promised) refusedInside(s promise, send func(what, field string, v any)) {
	with := func(what, field, named string, v any) {
		o := p.least(s).(map[string]any)
		o[named] = v
		send(what, field, o)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := p.resolved(s.Properties[name])
		for what, value := range p.beyond(f) {
			with(what, name, name, value)
		}
		if !f.Nullable {
			with("null", name, name, nil)
		}
		with("a wrong type", name, name, map[bool]any{true: []any{}, false: map[string]any{}}[f.Type == "object"])
		with("other letter case", strings.ToUpper(name), strings.ToUpper(name), p.least(f))
		switch {
		case f.Items != nil:
			with("null in a list", name, name, []any{nil})
			if items := p.resolved(*f.Items); items.Properties != nil {
				p.refusedInside(items, func(what, field string, v any) { with(what, field, name, []any{v}) })
			}
		case f.Properties != nil:
			p.refusedInside(f, func(what, field string, v any) { with(what, field, name, v) })
		case f.Type == "object":
			with("null in an object", name, name, map[string]any{"x": nil})
			with("null in a list in an object", name, name, map[string]any{"x": []any{nil}})
		}
	}
	for _, name := range s.Required {
		o := p.least(s).(map[string]any)
		delete(o, name)
		send("none", name, o)
	}
}

// TestSchemaOfLines asserts that the lines of POST /v1/urls are held to their schema, too.
func TestSchemaOfLines(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	long := strings.Repeat("x", 256)
	for line, want := range map[string]string{
		`null`: `"json"`,
		`{"url":"http://a.example/","metadata":{"a":null}}`:          `null in the field \"metadata\"; want an array`,
		`{"url":"http://a.example/","metadata":{"a":["x",null]}}`:    `null in the field \"metadata\"; want a string`,
		`{"url":"http://a.example/","Crawl":"x"}`:                    `unknown field \"Crawl\"`,
		`{"url":"http://a.example/","url":"http://b.example/"}`:      `the field \"url\" twice`,
		`{"url":"http://a.example/","priority":8}`:                   `"invalid","message":"got priority 8; want 0 to 7"`,
		`{"url":"http://a.example/","discriminator":"` + long + `"}`: `"too-long","message":"got a discriminator of 256 bytes; want at most 255"`,
		`{"url":"http://a.example/","due":"monday"}`:                 `got the time`,
		` { "\u0075rl" : "http://a.example/" , "metadata" : { "a\"" : [ "]" , "" ] , "b" : [ ] } , "crawl" : null , "priority" : 7 } `: `"verdict":"new"`,
	} {
		if code, got := s.ask(t, "POST", "/v1/urls", line); code != "200" || !strings.Contains(got, want) {
			t.Errorf("%s: got %s %s; want %s", line, code, got, want)
		}
	}
}

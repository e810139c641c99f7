package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// openapi.json is made of the types in package wire and their tags. Requests are held to the same types and tags here,
// before a handler sees them, so that what the file promises to refuse is refused: by every route, and also where a
// handler would not come to look at the value, such as the crawl of an empty list. Handlers check what a tag cannot say.
//
// What is in almost every request, objects and lists of known fields, texts without escapes and whole numbers, is read in one
// pass (quick): to read it by encoding/json alone took a fifth of the processor time of an offer. All else, and so whatever is
// refused, goes to encoding/json, which refuses values of the wrong type. It accepts what the schemas do not: unknown fields, names
// in other letter case, a field twice, null for anything, which leaves the value as it was, and objects without their required
// fields. The text is read once more for these, since the decoded value does not show them.
// JSON Schema counts characters; maxLength is held in bytes, as the stores do, which is never more lenient.

// shape is what a request may have in one place: a value of JSON or a query parameter.
type shape struct {
	name     string // of the field or parameter, "" for a body
	optional bool   // may be left out; of a field also null
	kind     reflect.Kind
	time     bool
	reads    bool              // its type reads its own JSON
	fields   map[string]*shape // of an object or a query
	at       []int             // of a field: its index
	bit      uint64            // of a field, in the set of those that an object has
	required uint64            // such bits
	elem     *shape            // of a list or a map

	bounded              bool
	minLength, maxLength int
	min, max             float64
	enum                 []string
}

// shapeError is why a request does not have its shape, with the code of the answer.
type shapeError struct{ code, text string }

func (e *shapeError) Error() string { return e.text }

func misshapen(code, format string, args ...any) error {
	return &shapeError{code, fmt.Sprintf(format, args...)}
}

// shapeFault says what is wrong with a value: its shape, or that it cannot be decoded at all.
func shapeFault(err error) *wire.Fault {
	bad := &shapeError{code: "json"}
	errors.As(err, &bad)
	return &wire.Fault{Code: bad.code, Message: err.Error()}
}

// writeMisshapen answers a request that has such a fault.
func writeMisshapen(w http.ResponseWriter, what string, err error) {
	fault := shapeFault(err)
	writeError(w, http.StatusBadRequest, fault.Code, what+"; "+fault.Message)
}

// shapeOf returns the shape of a type, which it makes once.
func (s *httpAPI) shapeOf(t reflect.Type) *shape {
	if had, ok := s.shapes.Load(t); ok {
		return had.(*shape)
	}
	made := newShape(t, "", "")
	s.shapes.Store(t, made)
	return made
}

// newShape makes the shape of a type, as a field with a tag.
func newShape(t reflect.Type, name string, tag reflect.StructTag) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &shape{name: name, kind: t.Kind(), min: math.Inf(-1), max: math.Inf(1), maxLength: math.MaxInt}
	number := func(key string, to *float64) {
		if n, err := strconv.ParseFloat(tag.Get(key), 64); err == nil {
			*to, s.bounded = n, true
		}
	}
	length := func(key string, to *int) {
		if n, err := strconv.Atoi(tag.Get(key)); err == nil {
			*to, s.bounded = n, true
		}
	}
	if s.kind == reflect.Uint8 {
		s.min, s.max = 0, 255
	}
	number("minimum", &s.min)
	number("maximum", &s.max)
	length("minLength", &s.minLength)
	length("maxLength", &s.maxLength)
	if list := tag.Get("enum"); list != "" {
		s.enum, s.bounded = strings.Split(list, ","), true
	}
	switch {
	case t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[wire.Bytes]():
		s.time, s.reads, s.kind = t.Kind() == reflect.Struct, true, reflect.String
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		s.elem = newShape(t.Elem(), name, "")
	case t.Kind() == reflect.Struct:
		s.fields = map[string]*shape{}
		for i, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			optional := strings.Contains(options, "omit")
			if query, ok := f.Tag.Lookup("query"); ok {
				name, optional = query, f.Tag.Get("required") == ""
			}
			field := newShape(f.Type, name, f.Tag)
			field.optional, field.bit, field.at = optional, 1<<i, f.Index
			if s.fields[name] = field; !optional {
				s.required |= field.bit
			}
		}
	}
	return s
}

// checkQuery holds the parameters of a request to a shape. A query may have others.
func (s *shape) checkQuery(q url.Values) error {
	has := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		f, values := s.fields[name], q[name]
		if f == nil {
			continue
		}
		one := f
		if f.elem != nil {
			one = f.elem
		} else if len(values) > 1 {
			return misshapen("invalid", "got the query parameter %s %d times; want it once", name, len(values))
		}
		for _, value := range values {
			if err := one.checkText(value); err != nil {
				return err
			}
			if value != "" {
				has |= f.bit
			}
		}
	}
	for name, f := range s.fields {
		if !f.optional && has&f.bit == 0 {
			return misshapen("invalid", "the query parameter %s is missing", name)
		}
	}
	return nil
}

// checkText holds a query parameter to its type and its bounds.
func (s *shape) checkText(text string) error {
	var err error
	switch s.kind {
	case reflect.Int, reflect.Int64:
		_, err = strconv.ParseInt(text, 10, 64)
	case reflect.String:
		if s.time {
			err = new(time.Time).UnmarshalText([]byte(text)) // as in JSON, which is stricter than time.Parse
		}
	}
	if err != nil {
		return misshapen("invalid", "got %s %.40q; want %s", s.name, text, s.wants())
	}
	return s.checkBounds(text)
}

// checkBounds holds a text, or a number in decimal, to the bounds of its place.
func (s *shape) checkBounds(text string) error {
	if !s.bounded {
		return nil
	}
	if s.kind != reflect.String {
		if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= s.min && n <= s.max) {
			return misshapen("invalid", "got %s %.40s; want %s", s.name, text, s.wants())
		}
		return nil
	}
	switch {
	case len(text) > s.maxLength:
		return misshapen("too-long", "got a %s of %d bytes; want at most %d", s.name, len(text), s.maxLength)
	case len(text) < s.minLength:
		return misshapen("invalid", "got a %s of %d bytes; want at least %d", s.name, len(text), s.minLength)
	case s.enum != nil && !slices.Contains(s.enum, text):
		return misshapen("invalid", "got %s %.20q; want %s", s.name, text, s.wants())
	}
	return nil
}

// wants says in words what a place takes.
func (s *shape) wants() string {
	switch {
	case len(s.enum) > 1:
		last := len(s.enum) - 1
		return strings.Join(s.enum[:last], ", ") + " or " + s.enum[last]
	case s.enum != nil:
		return s.enum[0]
	case s.time:
		return "a time such as 2026-01-31T12:00:00Z"
	case s.elem != nil && s.kind == reflect.Map, s.fields != nil:
		return "an object"
	case s.elem != nil:
		return "an array"
	case s.kind == reflect.String:
		return "a string"
	case s.kind == reflect.Bool:
		return "true or false"
	case !math.IsInf(s.min, 0) && !math.IsInf(s.max, 0):
		return fmt.Sprintf("%.0f to %.0f", s.min, s.max)
	case !math.IsInf(s.min, 0):
		return fmt.Sprintf("%.0f or more", s.min)
	}
	if s.kind == reflect.Int || s.kind == reflect.Int64 {
		return "a whole number"
	}
	return "a number"
}

// decode reads a text that is one JSON value and UTF-8 into a value of the type of the shape.
func decode[T any](s *shape, text []byte, v *T) error {
	was := *v
	if end := s.quick(text, 0, reflect.ValueOf(v).Elem()); end > 0 && afterBlanks(text, end) == len(text) {
		return nil
	}
	*v = was
	if err := json.Unmarshal(text, v); err != nil {
		return jsonError(err)
	}
	_, err := s.checkJSON(text, 0)
	return err
}

// quick reads the value at a place of a text into v, and returns where it ends; 0 if it is not of the plain kind that quick
// reads, or not of the shape. Then v may be changed.
func (s *shape) quick(text []byte, at int, v reflect.Value) (end int) {
	if at = afterBlanks(text, at); at == len(text) {
		return 0
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch c := text[at]; {
	case c == '{' && s.fields != nil:
		return s.quickObject(text, at, v)
	case c == '[' && v.Kind() == reflect.Slice && s.elem != nil:
		return s.quickList(text, at, v)
	case c == '"' && s.kind == reflect.String:
		end = at + 2 + bytes.IndexByte(text[at+1:], '"')
		if end < at+2 || !isPlain(text[at:end]) || s.bounded && s.checkBounds(zerocopy.String(text[at+1:end-1])) != nil {
			return 0
		}
		if !s.reads {
			v.SetString(string(text[at+1 : end-1]))
		} else if v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(text[at:end]) != nil {
			return 0
		}
		return end
	case s.kind == reflect.Bool && bytes.HasPrefix(text[at:], []byte("true")):
		v.SetBool(true)
		return at + len("true")
	case s.kind == reflect.Bool && bytes.HasPrefix(text[at:], []byte("false")):
		v.SetBool(false)
		return at + len("false")
	}
	return s.quickNumber(text, at, v)
}

// isPlain reports whether a string of JSON is its text, between its quotes.
func isPlain(quoted []byte) bool {
	for _, c := range quoted {
		if c == '\\' || c < ' ' {
			return false
		}
	}
	return true
}

func (s *shape) quickObject(text []byte, at int, v reflect.Value) (end int) {
	for has := uint64(0); ; {
		if at = afterBlanks(text, at+1); at == len(text) || text[at] != '"' {
			return 0
		}
		n := bytes.IndexByte(text[at+1:], '"')
		if n < 0 {
			return 0
		}
		f := s.fields[string(text[at+1:at+1+n])]
		if at = afterBlanks(text, at+n+2); f == nil || has&f.bit != 0 || at == len(text) || text[at] != ':' {
			return 0
		}
		has |= f.bit
		if at = f.quick(text, at+1, v.FieldByIndex(f.at)); at == 0 {
			return 0
		}
		switch at = afterBlanks(text, at); {
		case at == len(text) || text[at] != ',' && text[at] != '}' || text[at] == '}' && s.required&^has != 0:
			return 0
		case text[at] == '}':
			return at + 1
		}
	}
}

func (s *shape) quickList(text []byte, at int, v reflect.Value) (end int) {
	v.SetZero()
	for i := 0; ; i++ {
		v.Grow(1)
		v.SetLen(i + 1)
		if at = s.elem.quick(text, at+1, v.Index(i)); at == 0 {
			return 0
		}
		switch at = afterBlanks(text, at); {
		case at == len(text) || text[at] != ',' && text[at] != ']':
			return 0
		case text[at] == ']':
			return at + 1
		}
	}
}

// quickNumber reads a whole number of up to nine digits.
func (s *shape) quickNumber(text []byte, at int, v reflect.Value) (end int) {
	n := int64(0)
	for end = at; end < len(text) && end < at+9 && '0' <= text[end] && text[end] <= '9'; end++ {
		n = 10*n + int64(text[end]-'0')
	}
	switch {
	case end == at, text[at] == '0' && end > at+1, end < len(text) && strings.IndexByte(",]} \t\r\n", text[end]) < 0,
		s.bounded && !(float64(n) >= s.min && float64(n) <= s.max):
		return 0
	case v.CanInt() && !v.OverflowInt(n):
		v.SetInt(n)
	case v.CanUint() && !v.OverflowUint(uint64(n)):
		v.SetUint(uint64(n))
	case v.CanFloat():
		v.SetFloat(float64(n))
	default:
		return 0
	}
	return end
}

// checkJSON holds a value, and all that is in it, to its shape, and returns where it ends. The text must be JSON that
// was decoded into the type of the shape.
func (s *shape) checkJSON(text []byte, at int) (end int, err error) {
	at = afterBlanks(text, at)
	switch c := text[at]; {
	case c == 'n':
		if s.optional {
			return at + len("null"), nil
		}
		in := ""
		if s.name != "" {
			in = fmt.Sprintf(" in the field %q", s.name)
		}
		return at, misshapen("json", "got a JSON null%s; want %s", in, s.wants())
	case c == '{' || c == '[':
		return s.checkInside(text, at)
	case c == '"':
		if end = stringEnd(text, at); !s.bounded {
			return end, nil
		}
		return end, s.checkBounds(unquoted(text[at:end]))
	default:
		for end = at; end < len(text) && strings.IndexByte(",]} \t\r\n", text[end]) < 0; end++ {
		}
		if !s.bounded {
			return end, nil
		}
		return end, s.checkBounds(string(text[at:end]))
	}
}

// checkInside is checkJSON for an object or a list.
func (s *shape) checkInside(text []byte, at int) (end int, err error) {
	isObject, has := text[at] == '{', uint64(0)
	for at = afterBlanks(text, at+1); text[at] != '}' && text[at] != ']'; {
		one := s.elem
		if isObject {
			nameEnd := stringEnd(text, at)
			if s.fields != nil {
				if one = s.fields[string(text[at+1:nameEnd-1])]; one == nil {
					one = s.fields[unquoted(text[at:nameEnd])]
				}
				switch {
				case one == nil:
					return at, misshapen("json", "got the unknown field %.40q", unquoted(text[at:nameEnd]))
				case has&one.bit != 0:
					return at, misshapen("json", "got the field %q twice; want it once", one.name)
				}
				has |= one.bit
			}
			at = afterBlanks(text, nameEnd) + len(":")
		}
		if at, err = one.checkJSON(text, at); err != nil {
			return at, err
		}
		if at = afterBlanks(text, at); text[at] == ',' {
			at = afterBlanks(text, at+1)
		}
	}
	if missing := s.required &^ has; missing != 0 {
		for _, f := range s.fields {
			if f.bit == missing&-missing {
				return at, misshapen("invalid", "the field %q is missing; want %s", f.name, f.wants())
			}
		}
	}
	return at + 1, nil
}

func afterBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// stringEnd returns where the string ends that begins at a quote.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// unquoted returns the text of a string of JSON.
func unquoted(quoted []byte) (text string) {
	if !bytes.ContainsRune(quoted, '\\') {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &text) // it was decoded before
	return text
}

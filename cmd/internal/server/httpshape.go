package server

import (
	"encoding/base64"
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
// One decoder reads and checks in one pass. encoding/json would take what the schemas do not allow: unknown fields, names in other
// letter case, a field twice, null for anything, which leaves the value as it was, and objects without their required fields; to read
// with it and then look at the text once more took a fifth of the processor time of an offer. It is left with strings that have escapes,
// with numbers of other kinds than most, and with saying why a text is not JSON.
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

// shapeFault describes a value that has the wrong shape or cannot be decoded.
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

// decode reads a text that is one JSON value and UTF-8 into a value of the type of the shape. What a text leaves out stays as it was.
func decode[T any](s *shape, text []byte, v *T) error {
	end, err := s.read(text, 0, reflect.ValueOf(v).Elem())
	if err == nil && afterBlanks(text, end) == len(text) {
		return nil
	}
	switch broken := json.Unmarshal(text, new(json.RawMessage)); {
	case broken == nil:
		return err
	case strings.HasPrefix(broken.Error(), "unexpected end"):
		return errors.New("got JSON that ends too early")
	case strings.HasSuffix(broken.Error(), "after top-level value"):
		return errors.New("got more than one JSON value; want one")
	default:
		return fmt.Errorf("got no JSON: %w", broken)
	}
}

// errNotJSON ends the reading of a text that is not JSON; decode says why it isn't.
var errNotJSON = errors.New("got no JSON")

// read reads the value at a place of a text into v, and returns where it ends.
func (s *shape) read(text []byte, at int, v reflect.Value) (end int, err error) {
	if at = afterBlanks(text, at); at == len(text) {
		return at, errNotJSON
	}
	value, plain := []byte(nil), false
	switch c := text[at]; {
	case c == '"':
		end, plain = stringEnd(text, at)
		value = text[at:end]
	case c != '{' && c != '[':
		for end = at; end < len(text) && strings.IndexByte(",]} \t\r\n", text[end]) < 0; end++ {
		}
		value = text[at:end]
	}
	if isNull := string(value) == "null"; isNull && s.optional {
		return end, nil
	} else if isNull {
		return end, misshapen("json", "got a JSON null%s; want %s", s.in(), s.wants())
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch c := text[at]; {
	case c == '{' && (v.Kind() == reflect.Map || s.fields != nil):
		return s.readObject(text, at, v)
	case c == '[' && v.Kind() == reflect.Slice && s.elem != nil:
		return s.readList(text, at, v)
	case c == '"' && s.kind == reflect.String:
		return end, s.readText(value, plain, v)
	case s.kind == reflect.Bool && (string(value) == "true" || string(value) == "false"):
		v.SetBool(c == 't')
		return end, nil
	case c == '-' || '0' <= c && c <= '9':
		return end, s.readNumber(value, v)
	default:
		what := map[byte]string{'{': "object", '[': "array", '"': "string", 't': "bool", 'f': "bool"}[c]
		return end, misshapen("json", "got a JSON %s%s; want %s", what, s.in(), s.wants())
	}
}

// in names the field that a value is in.
func (s *shape) in() string {
	if s.name == "" {
		return ""
	}
	return fmt.Sprintf(" in the field %q", s.name)
}

// readText reads a string, whose text is between its quotes if it is plain.
func (s *shape) readText(quoted []byte, plain bool, v reflect.Value) error {
	text, err := unquoted(quoted, plain)
	if err == nil {
		err = s.checkBounds(text)
	}
	if err != nil {
		return err
	}
	if !s.reads {
		v.SetString(strings.Clone(text))
		return nil
	}
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		if to.UnmarshalText([]byte(text)) != nil { // as in JSON, which is stricter than time.Parse
			err = misshapen("json", "got the time %.60q%s; want one such as 2026-01-31T12:00:00Z", text, s.in())
		}
	case *wire.Bytes:
		if *to, err = base64.StdEncoding.DecodeString(text); err != nil {
			err = misshapen("json", "got bytes that are not base64%s", s.in())
		}
	}
	return err
}

// readNumber reads a number; most are whole ones of few digits.
func (s *shape) readNumber(text []byte, v reflect.Value) error {
	if err := s.checkBounds(zerocopy.String(text)); err != nil {
		return err
	}
	n, err := strconv.Atoi(zerocopy.String(text))
	switch isPlain := err == nil && (text[0] > '0' || len(text) == 1); {
	case isPlain && v.CanInt() && !v.OverflowInt(int64(n)):
		v.SetInt(int64(n))
	case isPlain && v.CanUint() && !v.OverflowUint(uint64(n)):
		v.SetUint(uint64(n))
	case json.Unmarshal(text, v.Addr().Interface()) != nil:
		return misshapen("json", "got a JSON number %.40s%s; want %s", text, s.in(), s.wants())
	}
	return nil
}

// readObject reads an object of known fields, or a map.
func (s *shape) readObject(text []byte, at int, v reflect.Value) (end int, err error) {
	if s.fields == nil {
		v.Set(reflect.MakeMap(v.Type()))
	}
	has := uint64(0)
	end, err = readInside(text, at, '}', func(at int) (int, error) {
		if at == len(text) || text[at] != '"' {
			return at, errNotJSON
		}
		nameEnd, plain := stringEnd(text, at)
		name, err := unquoted(text[at:nameEnd], plain)
		if at = afterBlanks(text, nameEnd); err != nil || at == len(text) || text[at] != ':' {
			return at, errNotJSON
		}
		if s.fields == nil {
			value := reflect.New(v.Type().Elem()).Elem()
			at, err := s.elem.read(text, at+1, value)
			v.SetMapIndex(reflect.ValueOf(strings.Clone(name)), value)
			return at, err
		}
		f := s.fields[name]
		switch {
		case f == nil:
			return at, misshapen("json", "got the unknown field %.40q", name)
		case has&f.bit != 0:
			return at, misshapen("json", "got the field %q twice; want it once", name)
		}
		has |= f.bit
		return f.read(text, at+1, v.FieldByIndex(f.at))
	})
	if missing := s.required &^ has; err == nil && missing != 0 {
		for _, f := range s.fields {
			if f.bit == missing&-missing {
				err = misshapen("invalid", "the field %q is missing; want %s", f.name, f.wants())
			}
		}
	}
	return end, err
}

func (s *shape) readList(text []byte, at int, v reflect.Value) (end int, err error) {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return readInside(text, at, ']', func(at int) (int, error) {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		return s.elem.read(text, at, v.Index(n))
	})
}

// readInside reads what stands between the brackets that open at a place, one thing after the other, and returns where they end.
func readInside(text []byte, at int, closing byte, one func(at int) (end int, err error)) (end int, err error) {
	if at = afterBlanks(text, at+1); at < len(text) && text[at] == closing {
		return at + 1, nil
	}
	for {
		if at, err = one(at); err != nil {
			return at, err
		}
		switch at = afterBlanks(text, at); {
		case at < len(text) && text[at] == closing:
			return at + 1, nil
		case at == len(text) || text[at] != ',':
			return at, errNotJSON
		}
		at = afterBlanks(text, at+1)
	}
}

func afterBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// stringEnd returns where the string ends that begins at a quote, and whether its text is what stands between its quotes.
func stringEnd(text []byte, at int) (end int, plain bool) {
	plain = true
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return at + 1, plain
		case c == '\\':
			plain = false
			at++
		case c < ' ':
			plain = false
		}
	}
	return len(text), false
}

// unquoted returns the text of a string, which is part of it if it is plain.
func unquoted(quoted []byte, plain bool) (string, error) {
	if plain {
		return zerocopy.String(quoted[1 : len(quoted)-1]), nil
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return "", errNotJSON
	}
	return text, nil
}

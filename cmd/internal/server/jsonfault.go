package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// jsonError returns an error of encoding/json in words that name the field of the request, not the
// types of this program.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	var when *time.ParseError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("got a JSON %s in the field %q; want %s", kind.Value, kind.Field, jsonKind(kind.Type))
	case errors.As(err, &kind):
		return fmt.Errorf("got a JSON %s; want an object", kind.Value)
	case errors.As(err, &when):
		return fmt.Errorf("got the time %.60q; want one such as 2026-01-31T12:00:00Z", strings.Trim(when.Value, `"`))
	case errors.As(err, &syntax):
		return fmt.Errorf("got no JSON: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("got JSON that ends too early")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("got the unknown field %s", field)
	}
	return err
}

// jsonKind returns what a field of a type takes, in the words of JSON.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Uint8:
		return "a whole number from 0 to 255"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a number"
}

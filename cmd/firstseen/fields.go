package main

import (
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/shape"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// fieldNames are the fields of --fields, in the order of the help.
var fieldNames = []string{"input", "canonical", "key", "scheme", "user", "host", "port", "domain", "path", "query", "fragment", "shape"}

// parseFields reads the value of --fields.
func parseFields(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(fieldNames, name) {
			return nil, misusef("cannot print field %q; want some of %s", name, strings.Join(fieldNames, ", "))
		}
	}
	return names, nil
}

// fieldsOf returns the fields of a canonical URL. Of a form that is no URL only the first three
// and the shape are not empty.
func fieldsOf(input, form string, names []string) fieldAnswer {
	values := map[string]string{"input": input, "canonical": form, "key": key(form)}
	host := canon.Host([]byte(form))
	values["shape"] = string(shape.Append(nil, []byte(form), host))
	if host != nil {
		splitForm(form, string(host), values)
	}
	return fieldAnswer{names, values}
}

// splitForm sets the parts of a URL.
func splitForm(form, host string, values map[string]string) {
	values["domain"] = string(appendDomain(nil, []byte(form)))
	scheme, rest, _ := strings.Cut(form, "://")
	authority, rest := whatwg.CutBefore(rest, "/?#")
	values["scheme"] = scheme
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		values["user"] = authority[:i]
	}
	values["host"] = host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		values["host"], values["port"] = host[:i], host[i+1:]
	}
	rest, values["fragment"], _ = strings.Cut(rest, "#")
	values["path"], values["query"], _ = strings.Cut(rest, "?")
}

// fieldAnswer is the answer of canon --fields: values between tabs, or an object.
type fieldAnswer struct {
	names  []string
	values map[string]string
}

func (f fieldAnswer) text() string {
	var list []string
	for _, name := range f.names {
		list = append(list, visible(f.values[name]))
	}
	return strings.Join(list, "\t")
}

// MarshalJSON writes the fields that were asked for, in their order.
func (f fieldAnswer) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range f.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendJSON(append(appendJSON(out, name), ':'), f.values[name])
	}
	return append(out, '}'), nil
}

package declared

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
	"golang.org/x/text/encoding/unicode"
)

// Search is what a No-Vary-Search field says of a query: the "URL variation config" of the
// draft, section 4. The zero value is its default: every difference matters.
type Search struct {
	// AnyOrder means that the order of the parameters does not matter.
	AnyOrder bool
	// Ignored are the parameters that do not matter, decoded and sorted.
	Ignored []string
	// OnlyListed means that no parameter matters but those in Matter.
	OnlyListed bool
	// Matter are the parameters that matter, decoded and sorted, if OnlyListed.
	Matter []string
}

// maxField bounds a No-Vary-Search field in bytes.
const maxField = 8 << 10

// ParseNoVarySearch parses the values of the field as sections 5.1 to 5.3 of the draft
// prescribe (version 10; the grammar is that of version 04). Where the draft falls back to
// its default silently, the error says why. In one place the text of the draft contradicts
// its own examples: "key-order" alone is valid here, as in its section 1.
func ParseNoVarySearch(values ...string) (Search, error) {
	if size := len(strings.Join(values, "")); size > maxField {
		return Search{}, fmt.Errorf("cannot use No-Vary-Search; got %d bytes; want at most %d", size, maxField)
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return Search{}, fmt.Errorf("cannot use No-Vary-Search; it is no dictionary of RFC 9651: %w", err)
	}
	s, err := searchOf(dict)
	if err != nil {
		return Search{}, fmt.Errorf("cannot use No-Vary-Search; %w", err)
	}
	return s, nil
}

func searchOf(dict *httpsfv.Dictionary) (s Search, err error) {
	if order, ok := dict.Get("key-order"); ok {
		item, _ := order.(httpsfv.Item)
		if s.AnyOrder, ok = item.Value.(bool); !ok {
			return s, errors.New("key-order is no boolean")
		}
	}
	params, hasParams := dict.Get("params")
	except, hasExcept := dict.Get("except")
	switch {
	case hasParams && hasExcept:
		return s, errors.New("it has both params and except; want one of them")
	case hasParams:
		s.Ignored, err = keysOf(params, "params")
	case hasExcept:
		s.OnlyListed = true
		s.Matter, err = keysOf(except, "except")
	}
	return s, err
}

// keysOf reads an inner list of strings.
func keysOf(m httpsfv.Member, name string) ([]string, error) {
	list, ok := m.(httpsfv.InnerList)
	if !ok {
		return nil, fmt.Errorf("%s is no inner list", name)
	}
	var keys []string
	for _, item := range list.Items {
		text, ok := item.Value.(string)
		if !ok {
			return nil, fmt.Errorf("%s has an item that is no string", name)
		}
		keys = append(keys, decodeForm(text))
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// decodeForm decodes a name or a value as the parser of application/x-www-form-urlencoded
// does (URL Standard 5.1).
func decodeForm(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b = append(b, ' ')
			continue
		case c == '%' && i+2 < len(s):
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	text, err := unicode.UTF8.NewDecoder().Bytes(b)
	if err != nil {
		return string(b)
	}
	return string(text)
}

// IsDefault reports whether the field says nothing.
func (s Search) IsDefault() bool { return !s.AnyOrder && !s.OnlyListed && len(s.Ignored) == 0 }

// Ignores reports whether a parameter, named as in a query, does not matter.
func (s Search) Ignores(name string) bool {
	if name = decodeForm(name); s.OnlyListed {
		return !slices.Contains(s.Matter, name)
	}
	return slices.Contains(s.Ignored, name)
}

// Names reports whether the field lists a parameter, named as in a query, under "except".
func (s Search) Names(name string) bool {
	return s.OnlyListed && slices.Contains(s.Matter, decodeForm(name))
}

// String returns the field in a form that is equal for equal meanings; "" is the default.
func (s Search) String() string {
	var parts []string
	if s.AnyOrder {
		parts = append(parts, "key-order")
	}
	switch {
	case s.OnlyListed:
		parts = append(parts, "except="+quoteKeys(s.Matter))
	case len(s.Ignored) > 0:
		parts = append(parts, "params="+quoteKeys(s.Ignored))
	}
	return strings.Join(parts, ", ")
}

// quoteKeys writes an inner list of strings in ASCII.
func quoteKeys(keys []string) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		for j := range len(key) {
			switch c := key[j]; {
			case c == '%' || c == '+' || c == '"' || c == '\\' || c < ' ' || c > '~':
				fmt.Fprintf(&b, "%%%02X", c)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
	}
	b.WriteByte(')')
	return b.String()
}

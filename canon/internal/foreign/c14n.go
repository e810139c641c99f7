package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// C14N is the profile c14n of package canon.
func C14N(raw string) (string, error) {
	u, err := pySplit(raw)
	if err != nil {
		return "", fmt.Errorf("cannot canonicalize as python-url-c14n does; got %s: %w", whatwg.Quote(raw), err)
	}
	u.netloc = pyLower(u.netloc)
	switch u.scheme {
	case "http":
		u.netloc = strings.TrimSuffix(u.netloc, ":80")
	case "https":
		u.netloc = strings.TrimSuffix(u.netloc, ":443")
	}
	u.path = c14nPath(c14nEscapes(u.path))
	u.query = c14nQuery(c14nEscapes(u.query))
	return u.join(), nil
}

// c14nEscapes upper-cases escapes, but for those with an upper-case digit ("%aF"), and decodes those of unreserved
// characters.
func c14nEscapes(s string) string {
	s = whatwg.MapEscapes(s, "%", func(escape string, _ byte) string {
		if whatwg.LowerText(escape) == escape {
			return strings.ToUpper(escape)
		}
		return escape
	})
	return whatwg.DecodeUnreserved(s)
}

// c14nPath applies POSIX path rules, whose ".." takes "//" as one slash and whose result
// has no slash at its end; the one of the input is put back.
func c14nPath(path string) string {
	if path == "" {
		return "/"
	}
	clean := pyNormpath(path)
	if strings.HasSuffix(path, "/") {
		clean += "/"
	}
	return collapseRuns(clean, "/")
}

// c14nQuery sorts parameters by name, then value. Every parameter gets its "=",
// the empty ones too.
func c14nQuery(query string) string {
	if query == "" {
		return ""
	}
	params := strings.Split(query, "&")
	for i, p := range params {
		if !strings.Contains(p, "=") {
			params[i] = p + "="
		}
	}
	slices.SortStableFunc(params, compareParams)
	return strings.Join(params, "&")
}

// compareParams compares "name=value" by name, then value.
func compareParams(a, b string) int {
	nameA, valueA, _ := strings.Cut(a, "=")
	nameB, valueB, _ := strings.Cut(b, "=")
	return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(valueA, valueB))
}

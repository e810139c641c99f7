package canon

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// surtDots resolves dot segments and drops empty ones. A ".." at the root stays, to be
// taken off by the next one, and a dot segment at the end leaves no slash.
func surtDots(path string) string {
	var kept []string
	for i, s := range strings.Split(path, "/") {
		switch {
		case i == 0 || s == ".":
		case s == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	last := len(kept) - 1
	names := slices.DeleteFunc(kept[:last:last], func(s string) bool { return s == "" })
	return "/" + strings.Join(append(names, kept[last]), "/")
}

// A session is a pattern of session ids, in lower case, and a word without which it
// cannot match. Of several matches the last one goes.
type session struct {
	word    string
	pattern *regexp.Regexp
}

// The session ids that surt knows: ASP.NET's in the path, and in the query those of
// Java, PHP, plain "sid", ASP and ColdFusion.
var (
	pathSessions = []session{
		{".aspx", regexp.MustCompile(`^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$`)},
		{".aspx", regexp.MustCompile(`^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$`)},
	}
	querySessions = []session{
		{"jsessionid=", regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"phpsessid=", regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"sid=", regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`)},
		{"aspsessionid", regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`)},
		{"cftoken=", regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`)},
	}
)

func stripSessions(s string, sessions []session) string {
	for _, x := range sessions {
		if strings.Contains(s, x.word) {
			s = x.pattern.ReplaceAllString(s, "$1$2")
		}
	}
	return s
}

// surtPath takes an escaped path to lower case, without session ids and without one
// slash at the end.
func surtPath(path string) string {
	path = stripSessions(asciiLower(path), pathSessions)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// surtQuery decodes and escapes the query as a whole, so that "%26" comes to separate,
// and sorts by name, then value; a parameter without "=" comes before one with it.
func surtQuery(query string) string {
	query = string(escapeMinimal(nil, unescapeFully(query)))
	params := strings.Split(stripSessions(asciiLower(query), querySessions), "&")
	slices.SortStableFunc(params, func(a, b string) int {
		nameA, valueA, hasA := strings.Cut(a, "=")
		nameB, valueB, hasB := strings.Cut(b, "=")
		return cmp.Or(strings.Compare(nameA, nameB), btoi(hasA)-btoi(hasB), strings.Compare(valueA, valueB))
	})
	return strings.Join(params, "&")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

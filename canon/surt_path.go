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

// The session ids that surt knows: ASP.NET's in the path, and in the query those of
// Java, PHP, plain "sid", ASP and ColdFusion. The last match goes.
var (
	pathSessions = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$`),
		regexp.MustCompile(`(?i)^(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$`),
	}
	querySessions = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
	}
)

// surtPath takes an escaped path: session ids go, then case, then one slash at the end.
func surtPath(path string) string {
	for _, re := range pathSessions {
		path = re.ReplaceAllString(path, "$1$2")
	}
	path = asciiLower(path)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// surtQuery decodes and escapes the query as a whole, so that "%26" comes to separate,
// and sorts by name, then value; a parameter without "=" comes before one with it.
func surtQuery(query string) string {
	query = string(escapeMinimal(nil, unescapeFully(query)))
	for _, re := range querySessions {
		query = re.ReplaceAllString(query, "$1$2")
	}
	params := strings.Split(asciiLower(query), "&")
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

package declared

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CleanParam is one Clean-param line of a robots.txt: parameters that do not change the
// pages at a path. Names and paths are case-sensitive.
//
// Source: https://yandex.com/support/webmaster/en/robot-workings/clean-param.
type CleanParam struct {
	Params []string
	// Path is a prefix of path and query, in which "*" matches any text, and "$" at the end
	// the end; "" matches everything.
	Path string
}

// Bounds on Clean-param: of a rule, as documented; of the rules read of a file; and of the
// file, as RFC 9309 2.5 has it.
const (
	maxCleanParam = 500
	maxCleanRules = 200
	maxRobots     = 500 << 10
)

// ParseCleanParam parses what follows "Clean-param:".
func ParseCleanParam(value string) (CleanParam, error) {
	if len(value) > maxCleanParam {
		return CleanParam{}, fmt.Errorf("cannot use Clean-param; got %d bytes; want at most %d", len(value), maxCleanParam)
	}
	fields := strings.Fields(value)
	if len(fields) == 0 || len(fields) > 2 {
		return CleanParam{}, fmt.Errorf("cannot use Clean-param %q; got %d fields; want parameters and at most one path", value, len(fields))
	}
	c := CleanParam{Params: strings.Split(fields[0], "&")}
	if slices.Contains(c.Params, "") || strings.ContainsAny(fields[0], "=?/") {
		return CleanParam{}, fmt.Errorf("cannot use Clean-param %q; want names of parameters with & between them", value)
	}
	if len(fields) == 2 {
		if c.Path = fields[1]; c.Path[0] != '/' && c.Path[0] != '*' {
			return CleanParam{}, fmt.Errorf("cannot use Clean-param %q; got path %q; want one that begins with a slash", value, c.Path)
		}
	}
	return c, nil
}

// ParseCleanParams parses lines as [Page].CleanParam has them. The error joins those of the lines that it left out.
func ParseCleanParams(lines string) (rules []CleanParam, refused error) {
	for line := range strings.SplitSeq(lines, "\n") {
		rule, err := ParseCleanParam(line)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		rules = append(rules, rule)
	}
	return rules, refused
}

// String returns the value of the line.
func (c CleanParam) String() string {
	return strings.TrimSpace(strings.Join(c.Params, "&") + " " + c.Path)
}

// Covers reports whether the rule holds at a path, which may have a query.
func (c CleanParam) Covers(path string) bool {
	pattern, end := strings.CutSuffix(c.Path, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	rest := path[len(parts[0]):]
	for i, part := range parts[1:] {
		if end && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !end || rest == ""
}

// Names reports whether the rule names a parameter.
func (c CleanParam) Names(param string) bool { return slices.Contains(c.Params, param) }

// CleanParams returns the Clean-param lines of a robots.txt. They can be anywhere in it, since they
// belong to no group. The error joins the errors of the lines that it left out.
func CleanParams(robots []byte) ([]CleanParam, error) {
	var lines []string
	var beyond error
	robots = bytes.TrimPrefix(robots[:min(len(robots), maxRobots)], []byte("\xef\xbb\xbf"))
	for line := range bytes.FieldsFuncSeq(robots, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte{'#'})
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || !bytes.EqualFold(bytes.TrimSpace(name), []byte("Clean-param")) {
			continue
		}
		if len(lines) == maxCleanRules {
			beyond = fmt.Errorf("cannot use further Clean-param lines; want at most %d", maxCleanRules)
			break
		}
		lines = append(lines, string(bytes.TrimSpace(value)))
	}
	if lines == nil {
		return nil, nil
	}
	rules, refused := ParseCleanParams(strings.Join(lines, "\n"))
	return rules, errors.Join(refused, beyond)
}

package trust

import (
	"errors"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/frontier/declared"
)

// ofRobots returns the entries for the Clean-param lines of a robots.txt.
func ofRobots(host, lines string) (entries []Entry, err error) {
	for line := range strings.SplitSeq(lines, "\n") {
		e, errLine := ofLine(host, line)
		if errLine != nil {
			err = errors.Join(err, errLine)
			continue
		}
		entries = append(entries, e)
	}
	return entries, err
}

// ofLine returns the entry for one line. A pattern of Clean-param can also match the query; one
// that must is refused.
func ofLine(host, line string) (Entry, error) {
	rule, err := declared.ParseCleanParam(line)
	if err != nil {
		return Entry{}, err
	}
	if strings.ContainsAny(rule.Path, "?#$\\") {
		return Entry{}, fmt.Errorf("the path of Clean-param %q contains one of \"?#$\\\"", line)
	}
	e := Entry{Host: host, Pattern: rule.Path, Source: "Clean-param"}
	if e.Pattern == "" {
		e.Pattern = "/"
	}
	for _, name := range rule.Params {
		if strings.ContainsAny(name, "*#") {
			return Entry{}, fmt.Errorf("the name %q of Clean-param contains one of \"*#\"", name)
		}
	}
	e.Drop = rule.Params
	return e, nil
}

// written returns the ways in which decoded names of parameters are written in canonical
// forms: each byte that may need an escape is escaped, and a space is also "+". The error is of
// names that are left out.
func written(names []string) (list []string, err error) {
	list = []string{}
	for _, name := range names {
		if name == "" || strings.HasSuffix(name, "*") {
			err = errors.Join(err, fmt.Errorf("the name %q is empty or ends in \"*\"", name))
			continue
		}
		var b strings.Builder
		for _, c := range []byte(name) {
			if strings.IndexByte("&=#%+ ", c) >= 0 {
				fmt.Fprintf(&b, "%%%02X", c)
				continue
			}
			b.WriteByte(c)
		}
		list = append(list, b.String())
		if strings.Contains(name, " ") {
			list = append(list, strings.ReplaceAll(b.String(), "%20", "+"))
		}
	}
	return list, err
}

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
)

// MUTANTS.md names in its last column the tests that found each fault. A phrase in quotes is the name of a test or
// of a case, written as words: "places get rows" is TestPlacesGetRows. Other phrases stand for the tests that
// the list below the table gives them. So a finder that is renamed, removed, or left out of a run is noticed.
var (
	meaning = regexp.MustCompile("(?m)^- ([a-z ]+): (`.+`)$")
	name    = regexp.MustCompile("`([^`]+)`")
	row     = regexp.MustCompile(`(?m)^\|[^|]*\|[^|]*\|([^|]*)\|$`)
	phrase  = regexp.MustCompile(`"([^"]+)"|([^,"]+)`)
)

// readFinders returns the folded name of each finder.
func readFinders(file string) (map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	meanings := map[string][]string{}
	for _, m := range meaning.FindAllStringSubmatch(string(text), -1) {
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			meanings[m[1]] = append(meanings[m[1]], n[1])
		}
	}
	finders := map[string]bool{}
	for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
		for _, m := range phrase.FindAllStringSubmatch(cells[1], -1) {
			group := strings.TrimSpace(m[2])
			switch {
			case m[1] != "":
				finders[fold(m[1])] = true
			case group == "" || group == "found by" || group == "---": // between two names, or of the head
			case meanings[group] == nil:
				return nil, fmt.Errorf("%s: %q names no test; say below the table which tests it means", file, group)
			default:
				for _, n := range meanings[group] {
					finders[fold(n)] = true
				}
			}
		}
	}
	return finders, nil
}

// fold leaves the letters and digits of a name, without the Test of a function.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimPrefix(name, "Test"))
}

// missing returns an error that names the finders that did not pass.
func (r *report) missing(finders map[string]bool) error {
	passed := map[string]bool{}
	for test := range r.passed {
		test = test[strings.IndexByte(test, '.')+1:]
		passed[fold(test)] = true
		passed[fold(test[strings.LastIndexByte(test, '/')+1:])] = true
	}
	var names []string
	for f := range finders {
		if !passed[f] {
			names = append(names, f)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("these find faults of MUTANTS.md, and did not pass: %s", strings.Join(names, " "))
	}
	return nil
}

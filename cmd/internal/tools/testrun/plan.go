package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// An exception is a line of plain.txt.
type exception struct {
	pkg    string // its path within the module
	tests  string // names of tests joined by "|", "*" for all
	how    string // "plain", or "apart": another target of the Makefile runs it
	reason string
}

// readExceptions reads plain.txt: blank lines and comments aside, each line has package, tests, how, reason.
func readExceptions(name string) ([]exception, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []exception
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "plain" && f[2] != "apart" {
			return nil, fmt.Errorf(`%s:%d: want "package tests plain|apart reason"`, name, n+1)
		}
		all = append(all, exception{f[0], f[1], f[2], strings.Join(f[3:], " ")})
	}
	return all, nil
}

// A group is the packages of one `go test`.
type group struct {
	name     string // "race", "plain", or "single": single tests that run plain
	race     bool
	packages []string
	run      string // the tests to run, "" for all
	skip     string // the tests to leave out, "" for none
}

func (g group) args() []string {
	// -vet=off: make vet looks at everything, once. -parallel: tests that are marked as parallel mostly wait for processes that they started.
	// -o: go test throws its programs away otherwise, and to link all of them takes a sixth of a run; of those that are kept it links only
	// the ones that changed.
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout", "20m", "-parallel", "6", "-o", "bin/tests/" + g.name + "/"}
	if g.race { // the largest group, which ends last: -p lets others run while a package waits for a browser or a server
		args = append(args, "-race", "-p", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
	}
	if g.run != "" {
		args = append(args, "-run", g.run)
	}
	if g.skip != "" {
		args = append(args, "-skip", g.skip)
	}
	for _, p := range g.packages {
		args = append(args, "./"+p)
	}
	return args
}

// first are packages that take longest: go test runs packages in the order of its arguments, and one that
// begins last is waited for by all.
var first = []string{"cmd/internal/server", "cmd/firstseen", "store/redisstore", "store/pebblestore", "cmd/internal/tools/packages", "cmd/internal/audit", "cmd/internal/tools/repocheck", "canon", "cmd/internal/report", "frontier", "store/"}

// rank is how soon a package is begun, 0 the first.
func rank(pkg string) int {
	at := slices.IndexFunc(first, func(prefix string) bool { return strings.HasPrefix(pkg, prefix) })
	if at < 0 {
		return len(first)
	}
	return at
}

// plan divides the packages: most run under the race detector; whole packages, and single tests, run plain.
// The names of tests in plain.txt belong to one package each (TestList), so that the tests of all
// packages can be left out by one pattern.
func plan(packages []string, exceptions []exception, race bool) []group {
	raced := group{name: "race", race: true}
	whole := group{name: "plain"}
	single := group{name: "single"}
	var tests []string
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
	for _, p := range packages {
		how := "race"
		for _, e := range exceptions {
			switch {
			case e.pkg != p:
			case e.tests == "*":
				how = e.how
			case race:
				tests = append(tests, e.tests)
				single.packages = append(single.packages, p)
			}
		}
		switch {
		case how == "apart":
		case how == "plain" || !race:
			whole.packages = append(whole.packages, p)
		default:
			raced.packages = append(raced.packages, p)
		}
	}
	if len(tests) > 0 {
		single.run = "^(" + strings.Join(tests, "|") + ")$"
		raced.skip = single.run
	}
	return slices.DeleteFunc([]group{raced, whole, single}, func(g group) bool { return len(g.packages) == 0 })
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../../.."

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// TestList checks plain.txt against the tree: each line names a package that has tests, each test is in its package
// and in no other, since go test takes one pattern for all packages, and nothing stands twice.
func TestList(t *testing.T) {
	exceptions, err := readExceptions("plain.txt")
	if err != nil {
		t.Fatal(err)
	}
	packagesOf := map[string][]string{} // by test
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, filepath.Dir(path))
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			packagesOf[m[1]] = append(packagesOf[m[1]], filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range exceptions {
		if e.tests == "*" {
			if !slices.ContainsFunc(slices.Collect(values(packagesOf)), func(p string) bool { return p == e.pkg }) {
				t.Errorf("%s has no tests", e.pkg)
			}
		}
		for test := range strings.SplitSeq(e.tests, "|") {
			if at := packagesOf[test]; test != "*" && !slices.Equal(at, []string{e.pkg}) {
				t.Errorf("%s is in %v; want it in %s alone", test, at, e.pkg)
			}
			if seen[e.pkg+test] || seen[e.pkg+"*"] {
				t.Errorf("%s %s stands twice", e.pkg, test)
			}
			seen[e.pkg+test] = true
		}
	}
}

func values(m map[string][]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, all := range m {
			for _, v := range all {
				if !yield(v) {
					return
				}
			}
		}
	}
}

func TestPlanLeavesNothingOut(t *testing.T) {
	exceptions := []exception{{"b", "*", "plain", "r"}, {"c", "TestX|TestY", "plain", "r"}, {"d", "*", "apart", "r"}}
	got := plan([]string{"a", "b", "c", "d"}, exceptions, true)
	want := []group{
		{name: "race", race: true, packages: []string{"a", "c"}, skip: "^(TestX|TestY)$"},
		{name: "plain", packages: []string{"b"}},
		{name: "single", packages: []string{"c"}, run: "^(TestX|TestY)$"},
	}
	if !slices.EqualFunc(got, want, sameGroup) {
		t.Errorf("got %+v; want %+v", got, want)
	}
	got = plan([]string{"a", "b", "c", "d"}, exceptions, false)
	want = []group{{name: "plain", packages: []string{"a", "b", "c"}}}
	if !slices.EqualFunc(got, want, sameGroup) {
		t.Errorf("without the race detector: got %+v; want %+v", got, want)
	}
}

func sameGroup(a, b group) bool {
	return a.name == b.name && a.race == b.race && a.run == b.run && a.skip == b.skip && slices.Equal(a.packages, b.packages)
}

// TestReport feeds events: what failed is printed, skips keep their reason, and a finder that did not pass is an error.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	for _, e := range []event{
		{Action: "output", Package: module + "p", Test: "TestA", Output: "    a_test.go:1: went wrong\n"},
		{Action: "fail", Package: module + "p", Test: "TestA"},
		{Action: "output", Package: module + "p", Test: "TestB", Output: "    b_test.go:7: needs redis\n"},
		{Action: "skip", Package: module + "p", Test: "TestB"},
		{Action: "pass", Package: module + "p", Test: "TestPlacesGetRows"},
		{Action: "pass", Package: module + "p", Test: "TestSuite/keep-urls/crawls_take_turns"},
		{Action: "output", Package: module + "p", Test: "TestC", Output: "panic: index out of range\n"},
		{Action: "output", Package: module + "p", Output: "processor time 0.750000 s\n"},
		{Action: "fail", Package: module + "p", Elapsed: 1.5},
	} {
		r.add("race", e)
	}
	r.print(0)
	for _, want := range []string{"went wrong", "panic: index", "FAIL\t" + module + "p\t1.5s, of a processor 0.8s (race)", "skipped: p.TestB: needs redis", "2 passed, 1 failed, 1 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s; want %q in it", &out, want)
		}
	}
	finders := map[string]bool{"placesgetrows": true, "crawlstaketurns": true}
	if err := r.missing(finders); err != nil {
		t.Error(err)
	}
	finders["wayanswers"] = true
	if err := r.missing(finders); err == nil || !strings.Contains(err.Error(), "wayanswers") {
		t.Errorf("got %v; want an error that names the test", err)
	}
}

func TestFindersOfThePage(t *testing.T) {
	finders, err := readFinders(filepath.Join(root, "store/storetest/MUTANTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"placesgetrows", "forgetaddmergecrash", "powercuts"} {
		if !finders[want] {
			t.Errorf("got no %s among %d", want, len(finders))
		}
	}
}

package repocheck

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInIDs   = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
	linkInHead = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// TestLinksLeadSomewhere checks the links of all pages between files of the repository, with their headings, and
// the pages that comments name.
func TestLinksLeadSomewhere(t *testing.T) {
	files := tracked(t)
	anchors := map[string][]string{}
	checked := 0
	for _, file := range files {
		if !strings.HasSuffix(file, ".md") || strings.Contains(file, "testdata/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(withoutCode(t, file), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // of the web
			}
			checked++
			to := file
			if target != "" {
				to = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			if anchors[to] == nil {
				anchors[to] = headings(t, to)
			}
			if !slices.Contains(anchors[to], anchor) {
				t.Errorf("%s links to %s; want one of %q", file, m[1], anchors[to])
			}
		}
	}
	if checked < 100 {
		t.Errorf("checked %d links; want more, or the test reads nothing", checked)
	}
}

var pageName = regexp.MustCompile(`(?:[a-z]+/)*[A-Z][A-Z-]+\.md\b`)

// TestNamedPagesExist checks that each page of docs that a comment, a message or a script names is there. One
// is of another project.
func TestNamedPagesExist(t *testing.T) {
	files := tracked(t)
	named := 0
	for _, file := range files {
		switch path.Ext(file) {
		case ".go", ".lua", ".py", ".mjs", ".yml", ".json", ".sh", ".conf", ".service", "":
		default:
			continue
		}
		if strings.Contains(file, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue // a link, or removed
		}
		for _, name := range pageName.FindAllString(string(text), -1) {
			named++
			if name != "SXURL-SPEC.md" && !slices.ContainsFunc(files, func(f string) bool { return f == name || strings.HasSuffix(f, "/"+name) }) {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
	if named < 20 {
		t.Errorf("found %d names of pages; want more, or the test reads nothing", named)
	}
}

func withoutCode(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	text = fence.ReplaceAll(text, nil)
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllStringFunc(string(text), func(code string) string {
		return strings.NewReplacer("](", "", "#", "").Replace(code)
	})
}

// headings are the anchors of a page, as GitHub makes them.
func headings(t *testing.T, file string) (list []string) {
	for _, m := range heading.FindAllStringSubmatch(withoutCode(t, file), -1) {
		id := linkInHead.ReplaceAllString(m[1], "$1")
		id = notInIDs.ReplaceAllString(strings.ToLower(strings.ReplaceAll(id, "`", "")), "")
		id = strings.ReplaceAll(id, " ", "-")
		for n, base := 1, id; slices.Contains(list, id); n++ {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		list = append(list, id)
	}
	return list
}

var (
	goTest     = regexp.MustCompile(`go test[^|\n]*?-(?:run|bench) '?([^\s']+)'?[^\n]*? \./?([a-z/]+)`)
	makeTarget = regexp.MustCompile("`make ([a-z-]+)")
)

// TestCommandsForMaintainersExist checks that the tests, benchmarks and targets of make on the pages are there, since
// they take too long to be run by a test.
func TestCommandsForMaintainersExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".md") || strings.Contains(file, "testdata/") || file == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makeTarget.FindAllStringSubmatch(string(text), -1) {
			checked++
			if m[1] != "bench-" && !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: no target %s", file, m[1])
			}
		}
		for _, m := range goTest.FindAllStringSubmatch(strings.NewReplacer("-run - ", "", "-run NONE ", "").Replace(string(text)), -1) {
			checked++
			wantFunctions(t, file, m[1], m[2])
		}
	}
	if checked < 30 {
		t.Errorf("checked %d commands; want more, or the test reads nothing", checked)
	}
}

// wantFunctions checks that a pattern of go test finds something in a package.
func wantFunctions(t *testing.T, page, names, pkg string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil || len(sources) == 0 {
		t.Errorf("%s: no tests in %s: %v", page, pkg, err)
	}
	var all strings.Builder
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for name := range strings.SplitSeq(names, "|") {
		name, _, _ = strings.Cut(name, "/")
		if !regexp.MustCompile(`\nfunc (Test|Benchmark|Fuzz)\w*` + strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(name, "$"), "^"), "Test")).MatchString(all.String()) {
			t.Errorf("%s: no test or benchmark %s in %s", page, name, pkg)
		}
	}
}

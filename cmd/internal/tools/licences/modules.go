package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// platforms are those of a release, whose dependencies differ a little.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// mod is a module that is linked in, its licence files, and the modules whose
// packages its own import.
type mod struct {
	path, version, dir string
	files              []file
	needs              map[string]bool
}

type file struct{ name, text string }

// own is the module itself.
const own = "github.com/firstseen/firstseen"

// std is the module that stands for Go's standard library.
const std = "std"

// modules lists the modules that a package needs on any of the platforms, itself
// and Go's standard library among them, with their licence files.
func modules(pkg string) ([]mod, error) {
	all := map[string]*mod{std: {path: std, version: strings.TrimPrefix(runtime.Version(), "go"), dir: goroot(), needs: map[string]bool{}}}
	for _, platform := range platforms {
		if err := addModules(all, pkg, platform); err != nil {
			return nil, err
		}
	}
	mods := make([]mod, 0, len(all))
	for _, m := range all {
		var err error
		if m.files, err = licenceFiles(m.dir); err != nil {
			return nil, err
		}
		mods = append(mods, *m)
	}
	slices.SortFunc(mods, func(a, b mod) int { return strings.Compare(a.path, b.path) })
	return mods, nil
}

// packageLine is what go list says of a package, in fields parted by tabs.
const packageLine = "{{.ImportPath}}\t{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{else}}std\t\t{{end}}\t{{join .Imports \" \"}}"

// addModules adds the modules that a package needs on a platform.
func addModules(all map[string]*mod, pkg, platform string) error {
	system, arch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-f", packageLine, pkg)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot list what %s needs on %s: %w", pkg, platform, err)
	}
	owner := make(map[string]string) // module of a package; those a package imports come before it
	for line := range strings.Lines(string(out)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) != 5 {
			return fmt.Errorf("cannot list what %s needs; got line %q; want five fields", pkg, line)
		}
		m := all[field[1]]
		if m == nil {
			m = &mod{path: field[1], version: field[2], dir: field[3], needs: map[string]bool{}}
			all[m.path] = m
		}
		owner[field[0]] = m.path
		for _, imported := range strings.Fields(field[4]) {
			if of := owner[imported]; of != "" && of != m.path {
				m.needs[of] = true
			}
		}
	}
	return nil
}

// goroot is where Go's own licence is.
func goroot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-][a-z0-9.-]*)?$`)

// licenceFiles reads the licence files in the root of a module.
func licenceFiles(dir string) (files []file, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read licences: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("cannot read licences: %w", err)
		}
		files = append(files, file{e.Name(), string(text)})
	}
	return files, nil
}

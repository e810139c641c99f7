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

// mod is a module that is linked in, and its licence files.
type mod struct {
	path, version, dir string
	files              []file
}

type file struct{ name, text string }

// own is the module itself.
const own = "github.com/firstseen/firstseen"

// modules lists the modules that a package needs on any of the platforms, Go's
// standard library first, with their licence files.
func modules(pkg string) ([]mod, error) {
	all := map[string]mod{"": {path: "Go", version: runtime.Version(), dir: goroot()}}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", pkg)
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("cannot list what %s needs on %s: %w", pkg, platform, err)
		}
		for line := range strings.Lines(string(out)) {
			field := strings.Split(strings.TrimSpace(line), "\t")
			if len(field) == 3 && field[0] != own {
				all[field[0]] = mod{path: field[0], version: field[1], dir: field[2]}
			}
		}
	}
	mods := make([]mod, 0, len(all))
	for _, m := range all {
		var err error
		if m.files, err = licenceFiles(m.dir); err != nil {
			return nil, err
		}
		mods = append(mods, m)
	}
	slices.SortFunc(mods, func(a, b mod) int { return strings.Compare(a.path, b.path) })
	return mods, nil
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

// licenceFiles reads what is in the root of a module.
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

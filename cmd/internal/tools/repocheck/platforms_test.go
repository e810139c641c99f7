package repocheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestOtherPlatforms checks the types of what a release is built from, and of the light packages on 32 bits, for
// platforms that this machine may not be.
//
// The simple way is to build for each of them. That compiles every dependency once more for each, four minutes of
// processor time each on a fresh machine, to find a file that lacks its twin for another system, or a constant that is no
// int on 32 bits: the type checker finds both, and needs no bodies of functions of other modules.
func TestOtherPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of all dependencies three times")
	}
	read := sources{files: token.NewFileSet(), parsed: map[string]*ast.File{}}
	for _, p := range []struct {
		os, arch string
		packages []string
	}{
		{"darwin", "arm64", []string{"./cmd/firstseen", "./canon/...", "./hashkey/...", "./store/...", "./frontier/..."}},
		{"linux", "arm64", []string{"./..."}},
		{"linux", "386", []string{"./canon", "./hashkey/..."}},
	} {
		t.Run(p.os+" "+p.arch, func(t *testing.T) {
			t.Parallel()
			if err := read.checkTypes(p.os, p.arch, p.packages); err != nil {
				t.Error(err)
			}
		})
	}
}

// listed is what go list says of a package; a package comes after those that it imports.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // as written: as it is called in the build
	Error           *struct{ Err string }
}

// sources are files that were read. Most are the same for each platform, and to read them takes longer than to check their types.
type sources struct {
	files  *token.FileSet
	mu     sync.Mutex
	parsed map[string]*ast.File // by path; go/types only reads them
}

// parse reads a file, without the bodies of its functions where nobody asks for them: they are most of it.
func (s *sources) parse(path string, bodies bool) (*ast.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.parsed[path]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && !bodies && d.Body != nil {
			d.Body = new(ast.BlockStmt)
		}
	}
	s.parsed[path] = f
	return f, nil
}

func (s *sources) checkTypes(goos, arch string, packages []string) error {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Error"}, packages...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	var failed []error
	for lines := json.NewDecoder(out); ; {
		var p listed
		if err := lines.Decode(&p); err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			break
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := strings.HasPrefix(p.ImportPath, module)
		known[p.ImportPath], err = s.checkPackage(p, arch, known, ours)
		if err != nil && ours {
			failed = append(failed, err)
		}
		if p.Error != nil {
			failed = append(failed, errors.New(p.Error.Err))
		}
	}
	return errors.Join(errors.Join(failed...), cmd.Wait())
}

// checkPackage returns the package as far as it is right, since others need it.
func (s *sources) checkPackage(p listed, arch string, known map[string]*types.Package, bodies bool) (*types.Package, error) {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := s.parse(filepath.Join(p.Dir, name), bodies)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	check := types.Config{
		Sizes:            types.SizesFor("gc", arch),
		IgnoreFuncBodies: !bodies,
		Error:            func(error) {}, // goes on; Check returns the first
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if known[path] == nil {
				return nil, fmt.Errorf("no package %s", path)
			}
			return known[path], nil
		}),
	}
	pkg, err := check.Check(p.ImportPath, s.files, parsed, nil)
	return pkg, err
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

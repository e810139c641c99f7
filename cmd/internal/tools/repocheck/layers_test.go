package repocheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/firstseen/firstseen/"

// layers are the top directories in the order of the flow: a package imports
// of its own layer and those before. What lies in internal is for all of them.
var layers = []string{"internal", "canon", "hashkey", "store", "frontier", "cmd", "examples"}

// heavy lists, for prefixes of import paths, the only packages that may import them, with their
// subpackages.
var heavy = map[string][]string{
	"github.com/cockroachdb/": {"store/pebblestore", "store/internal", tools + "/bench/store"},
	"github.com/redis/":       {"store/redisstore", "cmd/firstseen"},
	"github.com/prometheus/":  {"cmd/internal/server"},
	"github.com/spf13/":       {"cmd/firstseen"},
	"google.golang.org/":      {"frontier/frontierpb", "cmd/internal/server", tools + "/loadgen", tools + "/hostile", tools + "/soak"},
	"github.com/PuerkitoBio/": {"canon"},
	"github.com/nlnwa/":       {}, // tests only
	"github.com/klauspost/":   {"cmd/internal/logs", "cmd/internal/parquetfile", tools + "/lab"},
	"github.com/parquet-go/":  {"cmd/internal/parquetfile"},
	"github.com/dunglas/":     {"frontier/declared"},
	"golang.org/x/net/html":   {"frontier/declared", tools + "/lab"},
	"golang.org/x/net/http2":  {tools + "/loadgen", tools + "/hostile"},
}

// light is all that canon and hashkey may depend on, however indirectly, beside
// the standard library and each other: a crawler that wants only keys gets no
// database and no network.
var light = []string{
	module + "internal", module + "canon", module + "hashkey",
	"golang.org/x/net/idna", "golang.org/x/net/publicsuffix", "golang.org/x/text/",
	"github.com/PuerkitoBio/purell", "github.com/PuerkitoBio/urlesc",
}

// databases are prefixes of import paths that a crawler links only with the package of the store that
// it opens: of that package, and of its dependencies.
var databases = []string{
	module + "store/pebblestore", module + "store/redisstore", "github.com/cockroachdb/", "github.com/redis/",
	"github.com/DataDog/", "github.com/getsentry/", "github.com/prometheus/", "google.golang.org/",
}

// withoutDatabase are the packages that link none of them, with their subpackages.
var withoutDatabase = []string{"canon", "hashkey", "frontier", "frontier/client", "frontier/declared", "store/memstore", "store/captures"}

// pkg is what the tests read of go list.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
}

// short is the path of a package within the module, "" for one of elsewhere.
func short(path string) string {
	if s, ok := strings.CutPrefix(path, module); ok {
		return s
	}
	return ""
}

func TestImportsGoOnlyBackAlongTheFlow(t *testing.T) {
	for _, p := range packages(t) {
		own := layerOf(p.ImportPath)
		if own < 0 {
			t.Errorf("%s is in no layer; want one of %v", p.ImportPath, layers)
		}
		for _, imported := range p.Imports {
			if short(imported) != "" && layerOf(imported) > own {
				t.Errorf("%s imports %s; want nothing of a later layer", p.ImportPath, imported)
			}
		}
	}
}

func layerOf(path string) int {
	top, _, _ := strings.Cut(short(path), "/")
	return slices.Index(layers, top)
}

func TestHeavyLibrariesStayWhereTheyBelong(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for prefix, allowed := range heavy {
				if strings.HasPrefix(imported, prefix) && !slices.ContainsFunc(allowed, func(a string) bool { return within(short(p.ImportPath), a) }) {
					t.Errorf("%s imports %s; want that only in %v", p.ImportPath, imported, allowed)
				}
			}
		}
	}
}

// tools holds the programs that are not the product.
const tools = "cmd/internal/tools"

func TestProductLinksNoTools(t *testing.T) {
	for _, p := range packages(t) {
		if within(short(p.ImportPath), tools) {
			continue
		}
		for _, imported := range p.Imports {
			if within(short(imported), tools) {
				t.Errorf("%s imports %s; want only tests to import %s", p.ImportPath, imported, tools)
			}
		}
	}
}

// within reports whether a package is another one, or below it.
func within(path, other string) bool { return path == other || strings.HasPrefix(path, other+"/") }

func TestKeysNeedNothingHeavy(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		if own := layerOf(p.ImportPath); own > slices.Index(layers, "hashkey") {
			continue
		}
		checked++
		for _, dep := range p.Deps {
			first, _, _ := strings.Cut(dep, "/")
			ofModule := strings.Contains(first, ".")
			if ofModule && !slices.ContainsFunc(light, func(l string) bool { return strings.HasPrefix(dep, l) }) {
				t.Errorf("%s depends on %s; want of other modules only %v", p.ImportPath, dep, light)
			}
		}
	}
	if checked < 4 {
		t.Errorf("got %d packages of canon and hashkey; want at least 4", checked)
	}
}

func TestCrawlersLinkNoDatabaseUnasked(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		if !slices.Contains(withoutDatabase, short(p.ImportPath)) {
			continue
		}
		checked++
		for _, dep := range p.Deps {
			if slices.ContainsFunc(databases, func(d string) bool { return strings.HasPrefix(dep, d) }) {
				t.Errorf("%s links %s; want no database", p.ImportPath, dep)
			}
		}
	}
	if checked != len(withoutDatabase) {
		t.Errorf("got %d packages; want those of %v", checked, withoutDatabase)
	}
}

// packages lists the packages of the module, without their tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatalf("cannot list the packages: %v", err)
	}
	if len(all) < 30 {
		t.Fatalf("got %d packages; want all of the module", len(all))
	}
	return all
}

var listOnce = sync.OnceValues(func() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

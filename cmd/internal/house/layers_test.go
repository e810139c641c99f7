package house

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/firstseen/firstseen/"

// denied lists, for each package, import path prefixes that must not be among
// its dependencies, however indirect.
var denied = map[string][]string{
	"canon":    {module + "hashkey", module + "store", module + "frontier", module + "cmd", "github.com/cockroachdb/", "google.golang.org/", "github.com/prometheus/", "github.com/redis/"},
	"hashkey":  {module + "store", module + "frontier", module + "cmd", "github.com/cockroachdb/", "google.golang.org/", "github.com/prometheus/", "github.com/redis/"},
	"store":    {module + "frontier", module + "cmd", "google.golang.org/grpc", "github.com/cockroachdb/", "github.com/prometheus/"},
	"frontier": {module + "cmd", "google.golang.org/grpc"},
}

func TestImportsGoOnlyBackAlongTheFlow(t *testing.T) {
	for pkg, prefixes := range denied {
		t.Run(pkg, func(t *testing.T) {
			for _, dep := range deps(t, module+pkg) {
				for _, prefix := range prefixes {
					if strings.HasPrefix(dep, prefix) {
						t.Errorf("%s depends on %s; want nothing under %s", pkg, dep, prefix)
					}
				}
			}
		})
	}
}

func deps(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot list the dependencies of %s: %v\n%s", pkg, err, out)
	}
	return strings.Fields(string(out))
}

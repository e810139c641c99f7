package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// rooms are the parts of the package from the lowest up. Each has a type that embeds the one below, so that its methods
// reach nothing above; http and grpc stand side by side.
var rooms = []struct {
	name, files string
	beside      bool // the room before is not below this one
}{
	{"access", "config access admission counters", false},
	{"service", "service offers decode inbox leases settings guard storewatch disk_*", false},
	{"metrics", "metrics history", false},
	{"http", "http*", false},
	{"grpc", "grpc streams calls", true},
	{"life", "server local", false},
}

// TestRoomsDependDownwards finds names that a file uses of a room above its own.
func TestRoomsDependDownwards(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, home, declared := map[string]*ast.File{}, map[string]int{}, map[string]int{}
	for _, name := range names {
		base, isGo := strings.CutSuffix(name, ".go")
		if !isGo || strings.HasSuffix(base, "_test") {
			continue
		}
		home[base] = -1
		for i, room := range rooms {
			for _, pattern := range strings.Fields(room.files) {
				if ok, _ := filepath.Match(pattern, base); ok {
					home[base] = i
				}
			}
		}
		if home[base] < 0 {
			t.Errorf("%s is in no room", name)
		}
		if files[base], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
		for name := range files[base].Scope.Objects {
			declared[name] = home[base]
		}
	}
	used := 0
	for base, file := range files {
		for _, id := range file.Unresolved { // names of other files
			of, ok := declared[id.Name]
			if !ok {
				continue
			}
			used++
			if own := home[base]; of > own || of == own-1 && rooms[own].beside {
				t.Errorf("%s.go, of %s, uses %s, of %s", base, rooms[own].name, id.Name, rooms[of].name)
			}
		}
	}
	if used < 100 {
		t.Errorf("got %d names of other files; want more, or the test reads nothing", used)
	}
}

package interop

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store/memstore"
)

const protoDir = "../../../frontier/frontierpb"

// serve runs a server over a store in memory until the test ends.
func serve(t *testing.T) *server.Server {
	t.Helper()
	p := canon.Qiita()
	f, err := frontier.New(memstore.New(memstore.Options{KeepURLs: true}), frontier.Options{
		Profile: p, SkipFirst: true, MaxInFlight: -1, Traps: frontier.Traps{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(t.Context(), f, server.Config{GRPCAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", MaxWait: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = s.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestJava covers the calls of the published stubs, release 2.5.
func TestJava(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a Java program")
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		t.Skipf("needs Maven: %v", err)
	}
	// Offline: a test fetches nothing. Into a scratch directory: it leaves nothing.
	dir := t.TempDir()
	path := filepath.Join(dir, "classpath")
	out, err := exec.Command(mvn, "-q", "-B", "-o", "-f", "java/pom.xml", "-DbuildDirectory="+dir, "-Dmdep.outputFile="+path,
		"compile", "dependency:build-classpath").CombinedOutput()
	if err != nil && strings.Contains(string(out), "offline") {
		t.Skipf("needs the published stubs in Maven's repository (make test-interop): %v\n%s", err, out)
	}
	if err != nil {
		t.Fatalf("cannot compile: %v\n%s", err, out)
	}
	jars, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := run(t, "java", "-cp", filepath.Join(dir, "classes")+":"+strings.TrimSpace(string(jars)), "interop.Main", serve(t).GRPCAddr())
	checkCalls(t, said, "PutDiscovered", "PurgeURLs")
}

// TestPython covers all calls, by stubs made of our own file.
func TestPython(t *testing.T) {
	python := pythonWith(t, "grpc_tools")
	out := run(t, python, "python/client.py", serve(t).GRPCAddr(), protoDir)
	checkCalls(t, out)
}

// TestSchemathesis holds the HTTP interface to its OpenAPI file. One check is
// left out: bounds on names are in bytes, which a schema can't say, so that a
// request it allows may still be refused.
func TestSchemathesis(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of requests")
	}
	python := pythonWith(t, "schemathesis")
	s := serve(t)
	t.Chdir(t.TempDir()) // it keeps a cache where it runs
	run(t, python, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", "http://"+s.HTTPAddr()+"/openapi.json", "--url", "http://"+s.HTTPAddr(),
		"--checks", "all", "--exclude-checks", "positive_data_acceptance", "--max-examples", "25", "--seed", "1", "--no-color")
}

// pythonWith returns a Python that has a module, or skips the test.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	python := os.Getenv("FIRSTSEEN_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import "+module).CombinedOutput(); err != nil {
		t.Skipf("needs %s with %s (make test-interop): %v\n%s", python, module, err, out)
	}
	return python
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout = &out
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// checkCalls checks that a client got through all calls but the ones named.
func checkCalls(t *testing.T, out string, except ...string) {
	t.Helper()
	var names []string
	for _, m := range frontierpb.URLFrontier_ServiceDesc.Methods {
		names = append(names, m.MethodName)
	}
	for _, m := range frontierpb.URLFrontier_ServiceDesc.Streams {
		names = append(names, m.StreamName)
	}
	done := 0
	for _, name := range names {
		if slices.Contains(except, name) {
			continue
		}
		if done++; !strings.Contains(out, "ok "+name+"\n") {
			t.Errorf("%s was not tried", name)
		}
	}
	t.Logf("%d calls, in %d lines", done, strings.Count(out, "\n"))
}

package interop

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
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

const protoDir = "../../../../frontier/frontierpb"

// serve runs a server over a store in memory until the test ends.
func serve(t *testing.T) *server.Server {
	t.Helper()
	p := canon.Qiita()
	f, err := frontier.New(memstore.New(memstore.Options{KeepURLs: true}), frontier.Options{
		Profile: p, MaxInFlight: -1, Traps: frontier.Traps{Off: true}})
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
	stubs := installed(t, "FIRSTSEEN_JAVA_STUBS")
	out := run(t, "java", "-cp", stubs, "java/src/main/java/interop/Main.java", serve(t).GRPCAddr())
	checkCalls(t, out, "PutDiscovered", "PurgeURLs")
}

// TestPython covers all calls, by stubs made of our own file.
func TestPython(t *testing.T) {
	out := run(t, installed(t, "FIRSTSEEN_PYTHON_PACKAGES"), "python/client.py", serve(t).GRPCAddr(), protoDir)
	checkCalls(t, out)
}

// TestSchemathesis holds the HTTP interface to its OpenAPI file. One check is
// left out: bounds on names are in bytes, which a schema can't say, so that a
// request it allows may still be refused. Each operation gets the cases of the coverage phase and some random ones,
// many with FIRSTSEEN_TORTURE=1.
func TestSchemathesis(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of requests")
	}
	python := installed(t, "FIRSTSEEN_PYTHON_PACKAGES")
	examples := "8"
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		examples = "100"
	}
	s := serve(t)
	t.Chdir(t.TempDir()) // it keeps a cache where it runs
	run(t, python, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", "http://"+s.HTTPAddr()+"/openapi.json", "--url", "http://"+s.HTTPAddr(),
		"--checks", "all", "--exclude-checks", "positive_data_acceptance", "--max-examples", examples, "--seed", "1", "--no-color")
}

// installed returns the variable that install.sh sets for a tool, or skips the test if it is not
// set. It does not look for the tool in the path, because its version, its packages and its network
// differ from machine to machine.
func installed(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("needs %s, which install.sh sets where it can (make test-interop prints why it could not)", variable)
	}
	return value
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out strings.Builder
	// Thousands of requests are longer than hang.Limit on a busy machine, and are not hanging: -timeout of go test is the bound.
	cmd := exec.CommandContext(t.Context(), name, args...)
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

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// asCommand makes the test binary be the command itself.
const asCommand = "FIRSTSEEN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestTranscripts runs the scripts of testdata/cli with the command in the path and
// compares their output and exit status.
func TestTranscripts(t *testing.T) {
	bin := commandDir(t)
	datadriven.Walk(t, "testdata/cli", func(t *testing.T, path string) {
		t.Parallel()
		dir := t.TempDir() // shared by the steps of one file
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return script(t, bin, dir, d.Input)
		})
	})
}

// commandDir is a directory with the command, to be put in a path.
func commandDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shim := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, self)
	if err := os.WriteFile(filepath.Join(dir, "firstseen"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unsteady is what differs from run to run.
var unsteady = regexp.MustCompile(`("seconds":|"urls_per_second":|\n)[0-9.e+-]+( s, [0-9,]+ URLs/s)?`)

func script(t *testing.T, bin, dir, text string) string {
	t.Helper()
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "DATA="+data, "TMPDIR="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	got := strings.NewReplacer(dir, "$DIR", data, "$DATA").Replace(out.String())
	got = unsteady.ReplaceAllStringFunc(got, func(s string) string {
		switch {
		case s[0] == '"':
			return s[:strings.IndexByte(s, ':')+1] + "N"
		case strings.HasSuffix(s, "URLs/s"):
			return "\nN s, N URLs/s"
		}
		return s
	})
	return fmt.Sprintf("%s[status %d]\n", got, cmd.ProcessState.ExitCode())
}

// TestInterrupt sends the signal of Ctrl-C to a replay that waits for more input, and checks
// that it reports the lines it has read.
func TestInterrupt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "replay", "--db", filepath.Join(dir, "seen"), "--json", "-")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Several blocks: when the last write returns, the first of them is being counted.
	lines := strings.Repeat("http://a.example/"+strings.Repeat("x", 100)+"\n", 30_000)
	if _, err := io.WriteString(stdin, lines); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != statusFailed || !strings.Contains(out.String(), `"interrupted":true`) ||
		!strings.Contains(out.String(), `"unique":1,`) || !strings.Contains(errOut.String(), "interrupted") {
		t.Errorf("got %v, %s%s; want status %d, one unique URL and a word of the interruption", err, out.String(), errOut.String(), statusFailed)
	}
}

// TestDocsLinkstream is the acceptance of the replay on a real stream: 6.4 million
// links that a crawl of documentation found.
func TestDocsLinkstream(t *testing.T) {
	if os.Getenv("FIRSTSEEN_TORTURE") != "1" {
		t.Skip("reads 477 MB of URLs; set FIRSTSEEN_TORTURE=1")
	}
	stream := filepath.Join(sharedDir(t), "logs", "large", "docs-linkstream.urls.zst")
	var out, errOut bytes.Buffer
	db := filepath.Join(t.TempDir(), "db")
	args := []string{"replay", "--json", "--db", db, "--hosts", "0", stream}
	if status := run(t.Context(), args, nil, &out, &errOut); status != statusOK {
		t.Fatalf("got status %d, %s", status, errOut.String())
	}
	for _, want := range []string{`"lines":6426771,`, `"urls":6426771,`, `"refused":0,`, `"exact_unique":521726,`, `"unique":74261,`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s; want %s in it", out.String(), want)
		}
	}
	s, err := pebblestore.Open(db, pebblestore.Options{Mode: pebblestore.OpenReadOnly, IndexBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := sha256.New()
	for key, err := range s.Keys(t.Context(), store.DefaultCrawl) {
		if err != nil {
			t.Fatal(err)
		}
		h.Write(key[:])
	}
	if got, want := hex.EncodeToString(h.Sum(nil)), "2488a8a1954f1e0f27f3df2fd0507c6ecaa2b45294fe70122b6c3c19cdabf736"; got != want {
		t.Errorf("got sorted keys of SHA-256 %s; want %s", got, want)
	}
}

// sharedDir is where the corpora are that aren't in the repository.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FIRSTSEEN_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the shared corpora aren't here: %v", err)
	}
	return dir
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkServe runs serve --check with arguments, and fails the test if it reports an error.
func checkServe(t *testing.T, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--check")...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ok\n") {
		t.Errorf("%q: got %v\n%s", args, err, out)
	}
}

// TestDeploySettings checks the sample settings and the command line of the
// container: every flag and value is one that serve takes.
func TestDeploySettings(t *testing.T) {
	checkServe(t, "serve", "--config", filepath.Join("deploy", "serve.conf"))
	text, err := os.ReadFile(filepath.Join("deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindSubmatch(text)
	var args []string
	if line == nil || json.Unmarshal(line[1], &args) != nil || len(args) == 0 {
		t.Fatalf("got no CMD in the Dockerfile")
	}
	checkServe(t, args...)
}

// TestDeployUnit has systemd read the unit and its drop-in, with a program that is
// there in place of ours.
func TestDeployUnit(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze, of the package systemd")
	}
	var version int
	if out, err := exec.Command(tool, "--version").Output(); err == nil {
		_, _ = fmt.Sscanf(string(out), "systemd %d", &version)
	}
	if version < 247 {
		t.Skipf("got systemd %d; LoadCredential= needs 247 or later", version)
	}
	text, err := os.ReadFile(filepath.Join("deploy", "firstseen.service"))
	if err != nil {
		t.Fatal(err)
	}
	const ours = "/usr/local/bin/firstseen"
	if n := strings.Count(string(text), "="+ours+" serve --config /etc/firstseen/serve.conf"); n != 2 {
		t.Errorf("got %d lines that run %s with the settings; want 2", n, ours)
	}
	there, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "firstseen.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), ours, there)), 0o644); err != nil {
		t.Fatal(err)
	}
	dropIn, err := os.ReadFile(filepath.Join("deploy", "credentials.conf"))
	if err == nil {
		err = os.Mkdir(unit+".d", 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(unit+".d", "credentials.conf"), dropIn, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// Package packages tests the packages of a release.
package packages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

const root = "../../../.."

// dist builds the program and packs it for this machine, once for all tests.
func dist(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the packages are tried on Linux")
	}
	need(t, "python3")
	dir := t.TempDir()
	program := filepath.Join(dir, "firstseen-linux-"+runtime.GOARCH)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "./cmd/firstseen")
	if linked := os.Getenv("FIRSTSEEN_BIN"); linked != "" { // by make, which strips it as well
		build = exec.CommandContext(t.Context(), "cp", linked, program)
	}
	build.Dir = root // not as in a release, which would compile everything again
	output(t, build)
	for _, name := range []string{"man", "completion"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	complete := output(t, exec.CommandContext(t.Context(), program, "completion", "bash"))
	if err := os.WriteFile(filepath.Join(dir, "completion", "firstseen.bash"), []byte(complete), 0o600); err != nil {
		t.Fatal(err)
	}
	pack := exec.CommandContext(t.Context(), "python3", "build.py", dir, "v1.2.3")
	pack.Env = append(os.Environ(), "PACKAGES_LEVEL=0")
	output(t, pack)
	return dir
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s: %v", program, err)
	}
}

// output runs a command and returns its standard output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot run %v: %v\n%s%s", cmd.Args, err, out, errOut.String())
	}
	return string(out)
}

// find returns the one file of a pattern.
func find(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: got %v, %v; want one file", pattern, names, err)
	}
	return names[0]
}

func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and installs packages")
	}
	dir := dist(t)
	t.Run("wheel", func(t *testing.T) { wheel(t, dir) })
	t.Run("npm", func(t *testing.T) { npm(t, dir) })
	t.Run("deb", func(t *testing.T) { deb(t, dir) })
}

// unset returns the environment without the variable that names another program.
func unset() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FIRSTSEEN_") {
			env = append(env, v)
		}
	}
	return env
}

const pythonCrawl = `
import firstseen, sys, time
daemon = firstseen.Daemon(sys.argv[1])
client = daemon.client("news")
print([v.verdict for v in client.offer(["http://a.example/", "HTTP://A.example:80/#x", "http://b.example/", "mailto:x"])])
leases = client.lease(10)
print(sorted(l.url for l in leases), client.done(leases))
print([v.new for v in client.seen(["http://c.example/", "http://a.example/"])], client.stats()["seen"])
print(daemon.pid, flush=True)
time.sleep(600)
`

const pythonWant = "['new', 'duplicate', 'new', 'refused']\n['http://a.example/', 'http://b.example/'] ['ok', 'ok']\n[True, False] 3\n"

// wheel installs the wheels without a network, runs the command, and kills a process whose
// private daemon must then end.
func wheel(t *testing.T, dir string) {
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no virtual environment: %s", out)
	}
	python := filepath.Join(venv, "bin", "python")
	output(t, exec.CommandContext(t.Context(), python, "-m", "pip", "install", "-q", "--no-index", find(t, filepath.Join(dir, "firstseen-*.whl"))))
	output(t, exec.CommandContext(t.Context(), python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", find(t, filepath.Join(dir, "firstseen_scrapy-*.whl"))))
	wantUniq(t, filepath.Join(venv, "bin", "firstseen"))
	wantUniq(t, python, "-m", "firstseen")
	crawl := exec.CommandContext(t.Context(), python, "-c", pythonCrawl, filepath.Join(t.TempDir(), "crawl"))
	wantDaemonEnds(t, crawl, pythonWant)
}

const nodeCrawl = `
import { startDaemon } from "firstseen";
const daemon = await startDaemon(process.argv[2]);
const client = daemon.client("news");
console.log((await client.offer(["http://a.example/", "HTTP://A.example:80/#x", "http://b.example/", "mailto:x"])).map((v) => v.verdict).join());
const leases = await client.lease(10);
console.log(leases.map((l) => l.url).sort().join(), (await client.done(leases)).join());
console.log((await client.seen(["http://c.example/", "http://a.example/"])).map((v) => v.verdict).join(), (await client.stats()).seen);
console.log(daemon.pid);
setTimeout(() => {}, 600_000);
`

const nodeWant = "new,duplicate,new,refused\nhttp://a.example/,http://b.example/ ok,ok\nnew,duplicate 3\n"

func npm(t *testing.T, dir string) {
	need(t, "npm")
	project := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", project,
		find(t, filepath.Join(dir, "firstseen-linux-*.tgz")), filepath.Join(dir, "firstseen-1.2.3.tgz"))
	install.Dir = project
	output(t, install)
	wantUniq(t, filepath.Join(project, "node_modules", ".bin", "firstseen"))
	script := filepath.Join(project, "crawl.mjs")
	if err := os.WriteFile(script, []byte(nodeCrawl), 0o600); err != nil {
		t.Fatal(err)
	}
	wantDaemonEnds(t, exec.CommandContext(t.Context(), "node", script, filepath.Join(project, "crawl")), nodeWant)
}

// deb installs the package into an empty root, and looks at its files.
func deb(t *testing.T, dir string) {
	need(t, "dpkg")
	at := t.TempDir()
	for _, name := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(at, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(at, "var/lib/dpkg", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "dpkg", "--root="+at, "--force-not-root", "--force-bad-path", "--log="+filepath.Join(at, "log"),
		"-i", find(t, filepath.Join(dir, "*.deb")))
	output(t, install)
	wantUniq(t, filepath.Join(at, "usr/bin/firstseen"))
	for _, name := range []string{"etc/firstseen/serve.conf", "usr/lib/systemd/system/firstseen.service", "usr/share/bash-completion/completions/firstseen",
		"usr/share/doc/firstseen/copyright", "usr/share/doc/firstseen/changelog.gz"} {
		if info, err := os.Stat(filepath.Join(at, name)); err != nil || info.Size() == 0 {
			t.Errorf("got %v; want %s installed", err, name)
		}
	}
	verify := output(t, exec.CommandContext(t.Context(), "dpkg", "--root="+at, "--verify", "firstseen"))
	if verify != "" {
		t.Errorf("got %s; want all files as the package lists them", verify)
	}
}

// TestPackedTwice packs the same binaries twice: the packages must be the same, byte by byte.
func TestPackedTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages")
	}
	need(t, "python3")
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		for _, platform := range []string{"linux-amd64", "linux-arm64", "darwin-arm64"} {
			if err := os.WriteFile(filepath.Join(dir, "firstseen-"+platform), []byte("the program for "+platform), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		output(t, exec.CommandContext(t.Context(), "python3", "build.py", dir, "1.2.3"))
	}
	for pattern, want := range map[string]int{"*.whl": 4, "*.tgz": 4, "*.deb": 2} {
		names, err := filepath.Glob(filepath.Join(first, pattern))
		if err != nil || len(names) != want {
			t.Fatalf("%s: got %v, %v; want %d packages", pattern, names, err, want)
		}
		for _, name := range names {
			output(t, exec.CommandContext(t.Context(), "cmp", name, filepath.Join(second, filepath.Base(name))))
		}
	}
	if err := exec.CommandContext(t.Context(), "python3", "build.py", first, "1.2-beta").Run(); err == nil {
		t.Error("got a version that no package manager takes packed")
	}
}

// wantUniq runs uniq by a command, and add, which opens a store.
func wantUniq(t *testing.T, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "uniq", "-q")...)
	cmd.Stdin, cmd.Env = strings.NewReader("http://a.example/\nHTTP://A.example/\n"), unset()
	if got := output(t, cmd); got != "http://a.example/\n" {
		t.Errorf("%v: got %q; want the first URL", command, got)
	}
	cmd = exec.CommandContext(t.Context(), command[0], append(command[1:], "add", "--db", filepath.Join(t.TempDir(), "db"))...)
	cmd.Stdin, cmd.Env = strings.NewReader("http://a.example/\nHTTP://A.example/\n"), unset()
	if got := output(t, cmd); got != "-: list, 2 records: 1 new, 1 duplicate\n" {
		t.Errorf("%v: got %q; want a URL queued", command, got)
	}
}

// wantDaemonEnds reads what a script prints, the last line of which is the process of its
// daemon, and kills the script: the daemon ends within 5 s.
func wantDaemonEnds(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	cmd.Env = unset()
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	buf := make([]byte, 4096)
	for strings.Count(got.String(), "\n") < 4 {
		n, err := out.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			break
		}
	}
	lines := strings.SplitAfter(got.String(), "\n")
	if len(lines) < 4 || strings.Join(lines[:3], "") != want {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("got %q, %s; want %q and a process", got.String(), errOut.String(), want)
	}
	pid := strings.TrimSpace(lines[3])
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Fatalf("the daemon %s is not there: %v", pid, err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	hang.Until(t, "the daemon has ended with its process", func() bool {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || bytes.Contains(state, []byte(") Z "))
	})
}

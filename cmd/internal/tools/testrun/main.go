// Command testrun runs the tests of this module, each one once and in its strictest form.
//
// The simple way is `go test ./...` and then `go test -race` over the packages that share state. That ran
// half of all test time twice, and packages that nobody added to the second list were never under the race
// detector. Here the race detector is the rule: plain.txt names each package or test that runs without it,
// or apart, and says why. Without a C compiler, which the race detector needs, everything runs plain.
//
// The groups run at the same time, since many tests wait for processes that they start.
//
// At the end it prints the longest packages and tests, each reason for which tests were skipped, and whether every
// test ran that MUTANTS.md names as the finder of a fault. It exits with 1 if a test failed, or such a test did not pass.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const module = "github.com/firstseen/firstseen/"

func main() {
	if len(os.Args) > 2 && os.Args[1] == timed {
		os.Exit(runTimed(os.Args[2], os.Args[3:]))
	}
	plainFile := flag.String("plain", "cmd/internal/tools/testrun/plain.txt", "what does not run under the race detector, `FILE`")
	mutants := flag.String("finders", "store/storetest/MUTANTS.md", "the page whose finders must have passed, `FILE`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *plainFile, *mutants, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, plainFile, mutants string, w io.Writer) error {
	exceptions, err := readExceptions(plainFile)
	if err != nil {
		return err
	}
	finders, err := readFinders(mutants)
	if err != nil {
		return err
	}
	packages, err := testedPackages(ctx)
	if err != nil {
		return err
	}
	race, err := exec.LookPath(goEnv(ctx, "CC"))
	if err != nil {
		fmt.Fprintf(w, "without the race detector, since there is no C compiler: %v\n", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	report := newReport(w)
	begin := time.Now()
	err = runGroups(ctx, plan(packages, exceptions, race != ""), self, report)
	report.print(time.Since(begin))
	return errors.Join(err, report.missing(finders))
}

// testedPackages lists the packages of the module that have tests, by their paths within it.
func testedPackages(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages: %w", err)
	}
	var names []string
	for name := range strings.FieldsSeq(string(out)) {
		names = append(names, strings.TrimPrefix(name, module))
	}
	return names, nil
}

func goEnv(ctx context.Context, name string) string {
	out, _ := exec.CommandContext(ctx, "go", "env", name).Output() // "" is not found in the path
	return strings.TrimSpace(string(out))
}

// runGroups runs one `go test` for each group, at the same time.
func runGroups(ctx context.Context, groups []group, self string, r *report) error {
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, g := range groups {
		all.Go(func() { errs[i] = runGroup(ctx, g, self, r) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func runGroup(ctx context.Context, g group, self string, r *report) error {
	args := g.args()
	cmd := exec.CommandContext(ctx, "go", append([]string{args[0], "-exec", self + " " + timed}, args[1:]...)...)
	if g.race && os.Getenv("GORACE") == "" { // each process sleeps for a second before it exits otherwise
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=50")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			r.add(g.name, e)
		}
	}
	_, _ = io.Copy(io.Discard, out) // of a line that is too long; the exit status still counts
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("tests failed (%s): %w\n%s", g.name, err, &stderr)
	}
	return lines.Err()
}

// timed is the argument with which go test calls this program to run the tests of a package (go help testflag,
// -exec): wall time says little while other packages run, so each line of a package has its processor time.
const timed = "timed"

// usualHeap are packages whose tests run with a heap of the usual size, since they hold it to a bound, or run the program,
// which makes itself room for garbage unless GOGC is set. Others get some: up to a quarter of their time goes to the collector otherwise.
var usualHeap = []string{"firstseen", "logs", "packages", "server"}

// runTimed runs program and prints the processor time that it and the processes that it waited for took.
func runTimed(program string, args []string) (status int) {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Getenv("GOGC") == "" && !slices.Contains(usualHeap, strings.TrimSuffix(filepath.Base(program), ".test")) {
		cmd.Env = append(os.Environ(), "GOGC=400")
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT) // SIGQUIT: go test at the end of its -timeout
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	err := cmd.Wait()
	fmt.Printf(cpuFormat, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	if err != nil {
		return max(cmd.ProcessState.ExitCode(), 1) // -1: a signal ended it
	}
	return 0
}

const cpuFormat = "processor time %f s\n"

// An event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// A report collects the events of all groups. Its lock owns everything in it.
type report struct {
	mu      sync.Mutex
	w       io.Writer
	output  map[string][]string // lines of each test that has not ended, by group, package and test
	passed  map[string]bool     // package.Test
	skipped map[string][]string // tests by reason
	seconds map[string]float64  // of a package, or of a test in it, in a group
	cpu     map[string]float64  // seconds of a processor, of a package in a group
	count   map[string]int      // tests by action
}

func newReport(w io.Writer) *report {
	return &report{w: w, output: map[string][]string{}, passed: map[string]bool{}, skipped: map[string][]string{}, seconds: map[string]float64{}, cpu: map[string]float64{}, count: map[string]int{}}
}

func (r *report) add(group string, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pkg := strings.TrimPrefix(e.Package, module)
	name := pkg + "." + e.Test
	key := group + " " + name
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "fail", "skip":
		lines := r.output[key]
		delete(r.output, key)
		if e.Test == "" {
			r.endPackage(group, pkg, e, lines)
			return
		}
		if !strings.Contains(e.Test, "/") {
			r.seconds[name+" ("+group+")"] = e.Elapsed
		}
		r.count[e.Action]++
		switch e.Action {
		case "pass":
			r.passed[name] = true
		case "skip":
			reason := reasonOf(lines)
			r.skipped[reason] = append(r.skipped[reason], name)
		case "fail":
			fmt.Fprintf(r.w, "%s", strings.Join(lines, ""))
		}
	}
}

// endPackage prints the line of a package, as go test does. What is left of the output of its tests belongs to one
// that had not ended when the process did.
func (r *report) endPackage(group, pkg string, e event, lines []string) {
	r.seconds[pkg+" ("+group+")"] += e.Elapsed
	cpu := 0.0
	for _, line := range lines {
		_, _ = fmt.Sscanf(line, cpuFormat, &cpu) // other lines leave it
	}
	r.cpu[pkg+" ("+group+")"] = cpu
	verdict := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "?   "}[e.Action]
	if e.Action == "fail" {
		prefix := group + " " + pkg + "."
		for key := range r.output {
			if strings.HasPrefix(key, prefix) {
				fmt.Fprint(r.w, strings.Join(r.output[key], ""))
				delete(r.output, key)
			}
		}
		fmt.Fprint(r.w, strings.Join(lines, ""))
	}
	fmt.Fprintf(r.w, "%s\t%s\t%.1fs, of a processor %.1fs (%s)\n", verdict, module+pkg, e.Elapsed, cpu, group)
}

// reasonOf is the line that t.Skip printed.
func reasonOf(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if at := strings.Index(line, ".go:"); at >= 0 {
			_, reason, _ := strings.Cut(line[at+4:], ": ")
			return strings.TrimSpace(reason)
		}
	}
	return "no reason given"
}

func (r *report) print(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.w, "\nprocessor time of packages:")
	total := 0.0
	for _, name := range slices.SortedFunc(maps.Keys(r.cpu), func(a, b string) int { return cmp.Compare(r.cpu[b], r.cpu[a]) }) {
		total += r.cpu[name]
		if r.cpu[name] >= 1 {
			fmt.Fprintf(r.w, "%8.1fs %s\n", r.cpu[name], name)
		}
	}
	fmt.Fprintf(r.w, "%8.1fs in all, without building and linking\n", total)
	fmt.Fprintln(r.w, "\nthe longest packages and tests:")
	byTime := slices.SortedFunc(maps.Keys(r.seconds), func(a, b string) int { return cmp.Compare(r.seconds[b], r.seconds[a]) })
	for _, name := range byTime[:min(50, len(byTime))] {
		fmt.Fprintf(r.w, "%8.1fs %s\n", r.seconds[name], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		fmt.Fprintf(r.w, "skipped: %s: %s\n", strings.Join(r.skipped[reason], " "), reason)
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n", r.count["pass"], r.count["fail"], r.count["skip"])
	fmt.Fprintf(r.w, "took %v\n", took.Round(time.Second))
}

// Command mutants puts known faults into the code, one at a time, and runs the tests that are to find each.
//
// store/storetest/MUTANTS.md tells in words which faults were tried. Words can't be tried again after a rewrite, so
// the faults of rewritten code are kept as edits (faults/*.txt), in the form of parseFaults. No file of
// the tree is changed: the changed file is handed to `go test` with -overlay.
//
// A fault ends as "found" (a test failed), "SURVIVED" (all passed), or "STALE" (the text to replace is not in the file
// exactly once, or the result doesn't compile: the edit has to be written anew). The exit status is 1 unless all are found.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	pattern := flag.String("faults", "cmd/internal/tools/mutants/faults/*.txt", "files of faults, `GLOB`")
	only := flag.String("only", "", "try the faults whose title contains `TEXT`")
	jobs := flag.Int("jobs", 2, "faults tried at the same time, `N`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *pattern, *only, *jobs, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern, only string, jobs int, w io.Writer) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no file matches %s", pattern)
	}
	var all []fault
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		faults, err := parseFaults(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range faults {
			if strings.Contains(f.title, only) {
				all = append(all, f)
			}
		}
	}
	count := map[string]int{}
	var mu sync.Mutex
	var tries sync.WaitGroup
	places := make(chan struct{}, max(jobs, 1))
	for _, f := range all {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		tries.Go(func() {
			defer func() { <-places }()
			begin := time.Now()
			verdict, detail := f.try(ctx)
			mu.Lock()
			defer mu.Unlock()
			count[verdict]++
			fmt.Fprintf(w, "%-8s %5.1fs %s%s\n", verdict, time.Since(begin).Seconds(), f.title, detail)
		})
	}
	tries.Wait()
	fmt.Fprintf(w, "%d faults: %d found, %d survived, %d stale\n", len(all), count["found"], count["SURVIVED"], count["STALE"])
	if count["found"] < len(all) {
		return errors.New("not every fault was found")
	}
	return ctx.Err()
}

// try runs the tests of f with f in the code.
func (f fault) try(ctx context.Context) (verdict, detail string) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return "STALE", ": " + err.Error()
	}
	if n := strings.Count(string(text), f.before); n != 1 {
		return "STALE", fmt.Sprintf(": the text to replace is %d times in %s", n, f.file)
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "STALE", ": " + err.Error()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	path, err := filepath.Abs(f.file)
	replace, _ := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	err = errors.Join(err,
		os.WriteFile(changed, []byte(strings.Replace(string(text), f.before, f.after, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600))
	if err != nil {
		return "STALE", ": " + err.Error()
	}
	args := append([]string{"test", "-overlay", overlay, "-vet=off", "-failfast", "-timeout", "10m"}, f.test...)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	switch {
	case err == nil:
		return "SURVIVED", ": " + strings.Join(f.test, " ")
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		return "STALE", ":\n" + string(out)
	}
	return "found", ""
}

// A fault is one edit, and the tests that are to fail with it.
type fault struct {
	title         string
	file          string   // from the top of the module
	before, after string   // a text that stands in the file once, and what replaces it
	test          []string // arguments of go test: packages and flags
}

// parseFaults reads faults in this form; lines before the first title are comments.
//
//	## no step is large: forgetting a queue in one step
//	file store/pebblestore/forget.go
//	test ./store/pebblestore -run TestForgetQueueIsManySteps
//	- 		if steps.full() {
//	+ 		if false {
//
// Lines that begin with "- " are the text to replace, those with "+ " what stands there instead; none is fine, for
// text that is removed. An empty line of either is "-" or "+".
func parseFaults(text string) ([]fault, error) {
	var all []fault
	for n, line := range strings.Split(text, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, fault{title: title})
			continue
		}
		if len(all) == 0 || line == "" {
			continue
		}
		f := &all[len(all)-1]
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "file":
			f.file = rest
		case "test":
			f.test = strings.Fields(rest)
		case "-":
			f.before += rest + "\n"
		case "+":
			f.after += rest + "\n"
		default:
			return nil, fmt.Errorf(`line %d: want "## TITLE", "file PATH", "test ARGUMENTS", "- TEXT" or "+ TEXT", got %q`, n+1, line)
		}
	}
	for _, f := range all {
		if f.file == "" || f.before == "" || len(f.test) == 0 {
			return nil, fmt.Errorf("%q: a fault needs file, test, and text to replace", f.title)
		}
	}
	return all, nil
}

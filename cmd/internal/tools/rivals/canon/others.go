package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// timeOthers builds and runs the rivals in other languages.
func timeOthers(urls []string, rounds int) (results []result) {
	dir, err := os.MkdirTemp("", "canon-rivals")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	list := filepath.Join(dir, "urls.txt")
	if err := os.WriteFile(list, []byte(strings.Join(urls, "\n")+"\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	for name, program := range map[string]func(dir string) ([]string, error){
		"C++ ada": buildAda, "Rust url": buildRust, "Python w3lib": findPython,
	} {
		command, err := program(dir)
		if err != nil {
			log.Printf("without %s: %v", name, err)
			continue
		}
		found, err := runOther(append(command, list, strconv.Itoa(rounds)))
		if err != nil {
			log.Printf("without %s: %v", name, err)
		}
		results = append(results, found...)
	}
	return results
}

// buildAda takes ada's one source file from the crate that wraps it.
func buildAda(dir string) ([]string, error) {
	if _, err := output("ada", "cargo", "fetch", "--locked"); err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(cargoHome(), "registry", "src", "*", "ada-url-3.4.6", "deps"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("cannot find the sources of ada in %s", cargoHome())
	}
	program := filepath.Join(dir, "ada")
	_, err = output(".", "g++", "-O3", "-std=c++20", "-DNDEBUG", "-I"+found[0], "-o", program,
		filepath.Join("ada", "ada.cpp"), filepath.Join(found[0], "ada.cpp"))
	return []string{program}, err
}

func cargoHome() string {
	if home := os.Getenv("CARGO_HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".cargo")
}

func buildRust(dir string) ([]string, error) {
	_, err := output("rust", "cargo", "build", "--quiet", "--locked", "--release", "--target-dir", dir)
	return []string{filepath.Join(dir, "release", "canon-rivals")}, err
}

// findPython wants w3lib in the Python that PYTHON names, or in python3.
func findPython(string) ([]string, error) {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	_, err := output(".", python, "-c", "import w3lib.url")
	return []string{python, "w3lib_rival.py"}, err
}

// runOther reads lines of name, ns per URL and number refused.
func runOther(command []string) (results []result, err error) {
	text, err := output(".", command[0], command[1:]...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("cannot read result of %s; got %q; want three fields", command[0], line)
		}
		nanos, err1 := strconv.ParseFloat(fields[1], 64)
		refused, err2 := strconv.Atoi(fields[2])
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("cannot read result of %s; got %q; want two numbers", command[0], line)
		}
		results = append(results, result{fields[0], []float64{nanos}, refused})
	}
	return results, nil
}

func output(dir, name string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w %s", name, err, lastLine(stderr.String()))
	}
	return string(out), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

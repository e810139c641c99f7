package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeFile writes a text by way of an outFile.
func writeFile(path, text string) error {
	o, err := newOutFile(path)
	if err != nil {
		return err
	}
	defer o.drop()
	return o.write(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// TestOutFileIntoAPipe checks that a pipe is written to, and not replaced.
func TestOutFileIntoAPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0) // does not block
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := writeFile(name, "text"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("got %v, %v; want a pipe as before", info, err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(pipe, got); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v; want the text", got, err)
	}
}

// TestOutFileIntoStandardOutput checks that output to /dev/stdout and /dev/stderr is appended to
// their files, and that later output follows it.
func TestOutFileIntoStandardOutput(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string]int{"appended": os.O_APPEND, "at its offset": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, std := range []string{"stdout", "stderr"} {
				file, err := os.OpenFile(filepath.Join(dir, std), os.O_CREATE|os.O_WRONLY|flags, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				cmd := exec.CommandContext(t.Context(), self, "replay", "--csv", "/dev/"+std, "-")
				cmd.Env, cmd.Stdin = append(os.Environ(), asCommand+"=1"), strings.NewReader("http://a.example/\n")
				if cmd.Stdout = file; std == "stderr" {
					cmd.Stdout, cmd.Stderr = nil, file
				}
				_, before := file.WriteString("before\n")
				ran := cmd.Run()
				_, after := file.WriteString("after\n")
				text, err := os.ReadFile(file.Name())
				if err := errors.Join(before, ran, after, err); err != nil {
					t.Fatal(err)
				}
				got := string(text)
				if !strings.HasPrefix(got, "before\n") || !strings.Contains(got, "\na.example,1,") || !strings.HasSuffix(got, "\nafter\n") {
					t.Errorf("%s: got %q; want the counts of hosts between what was there before and after", std, got)
				}
			}
			if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
				t.Errorf("got %v, %v; want two files alone", all, err)
			}
		})
	}
}

// TestOutFileByALink: what a link leads to is written, and the link stays. One that leads
// nowhere is refused, as is a directory, before there is anything to write.
func TestOutFileByALink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "sub", "target")
	err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.Symlink(target, link))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir} {
		if _, err := newOutFile(path); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), writeFile(link, "text")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("got %v, %v; want a link as before", info, err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v; want the text", got, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", ".*-*")); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v left; want nothing", left, err)
	}
}

// TestOutFileFails checks that a write that fails leaves no partial file, and keeps the old one.
func TestOutFileFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := newOutFile(name)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := o.write(func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v; want %v", err, failed)
	}
	o.drop()
	all, err := os.ReadDir(dir)
	if got, _ := os.ReadFile(name); err != nil || len(all) != 1 || string(got) != "old" {
		t.Errorf("got %q among %v, %v; want the old file alone", got, all, err)
	}
}

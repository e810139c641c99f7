package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFileIntoAPipe checks that a pipe is written to, and not replaced.
func TestFileIntoAPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0) // does not block
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := WriteFile(name, []byte("text")); err != nil {
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

// TestFileByALink: what a link leads to is written, and the link stays. One that leads
// nowhere is refused, as is a directory, before there is anything to write.
func TestFileByALink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "sub", "target")
	err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.Symlink(target, link))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir} {
		if _, err := Create(path); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), WriteFile(link, []byte("text"))); err != nil {
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

// TestFileFails checks that a write that fails leaves no partial file, and keeps the old one.
func TestFileFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := o.Write(func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v; want %v", err, failed)
	}
	o.Drop()
	all, err := os.ReadDir(dir)
	if got, _ := os.ReadFile(name); err != nil || len(all) != 1 || string(got) != "old" {
		t.Errorf("got %q among %v, %v; want the old file alone", got, all, err)
	}
}

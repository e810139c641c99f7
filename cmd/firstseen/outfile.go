package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// An outFile is a file that is there whole or not at all: it is written beside its
// place, from the start, so that a bad path shows before the work is done.
type outFile struct {
	path string
	temp *os.File
}

// newOutFile begins a file; an empty path gives nil, which does nothing.
func newOutFile(path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &outFile{path, temp}, nil
}

// write writes the file and puts it in its place.
func (o *outFile) write(f func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	err := errors.Join(f(o.temp), o.temp.Chmod(0o644), o.temp.Close())
	if err == nil {
		err = os.Rename(o.temp.Name(), o.path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", o.path, err)
	}
	return nil
}

// drop removes what wasn't put in its place.
func (o *outFile) drop() {
	if o != nil {
		_ = o.temp.Close()           // closed twice after write
		_ = os.Remove(o.temp.Name()) // gone after write
	}
}

// hostsCSV writes all hosts, one a line.
func hostsCSV(w io.Writer, hosts []replay.HostStats) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"host", "urls", "duplicates", "exact", "unique", "bytes", "duplicate_bytes"}) // the error stays
	for _, h := range hosts {
		row := []string{h.Host}
		for _, n := range []int64{h.URLs, h.Duplicates(), h.Exact, h.Unique, h.Bytes, h.DuplicateBytes} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		_ = c.Write(row)
	}
	c.Flush()
	return c.Error()
}

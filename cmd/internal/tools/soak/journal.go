//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// journal is what one client saw, a line each: the time in ns, a word, and its fields. A
// line is written at once and whole, so a killed client leaves at most its last one cut.
type journal struct{ file *os.File }

func openJournal(name string) (*journal, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open journal: %w", err)
	}
	return &journal{f}, nil
}

// lines gathers entries to be written at once.
type lines struct{ b strings.Builder }

func (l *lines) add(word string, fields ...any) {
	fmt.Fprintf(&l.b, "%d %s", time.Now().UnixNano(), word)
	for _, f := range fields {
		fmt.Fprintf(&l.b, " %v", f)
	}
	l.b.WriteByte('\n')
}

func (j *journal) write(l *lines) error {
	if _, err := j.file.WriteString(l.b.String()); err != nil {
		return fmt.Errorf("cannot write journal: %w", err)
	}
	return nil
}

// entry is a line of a journal.
type entry struct {
	at     int64
	word   string
	fields []string
}

// readJournals calls f with the entries of all journals that match, file by file.
func readJournals(pattern string, f func(entry)) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := readJournal(name, f); err != nil {
			return err
		}
	}
	return nil
}

func readJournal(name string, f func(entry)) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot read journal: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	scan := bufio.NewScanner(file)
	for scan.Scan() {
		words := strings.Fields(scan.Text())
		var e entry
		if len(words) < 2 {
			continue
		}
		if _, err := fmt.Sscan(words[0], &e.at); err != nil {
			continue // cut by a kill
		}
		e.word, e.fields = words[1], words[2:]
		f(e)
	}
	return scan.Err()
}

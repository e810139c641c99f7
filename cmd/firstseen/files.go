package main

import (
	"io"
	"iter"
	"os"
	"sync"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// A fileSet is the inputs of a replay: it knows how much of them was read.
type fileSet struct {
	stdin io.Reader
	log   replay.LogOptions

	mu    sync.Mutex
	total int64 // stored bytes of all, 0 when not known
	files []*input.File
}

// inputs gives an input for each name. Files are opened when it is their turn.
func (s *fileSet) inputs(names []string) []replay.Input {
	var list []replay.Input
	total, known := int64(0), true
	for _, name := range names {
		list = append(list, replay.Input{Name: name, Open: func() iter.Seq2[*replay.Batch, error] { return s.batches(name) }})
		info, err := os.Stat(name)
		known = known && err == nil && info.Mode().IsRegular()
		if known {
			total += info.Size()
		}
	}
	if known {
		s.total = total
	}
	return list
}

func (s *fileSet) batches(name string) iter.Seq2[*replay.Batch, error] {
	f, err := s.open(name)
	if err != nil {
		return func(yield func(*replay.Batch, error) bool) { yield(nil, err) }
	}
	return replay.Log(f, s.log)
}

func (s *fileSet) open(name string) (*input.File, error) {
	f, err := input.Open(name, s.stdin)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, f)
	return f, nil
}

// read is how many stored bytes were read, and of how many; 0 when not known.
func (s *fileSet) read() (n, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		n += f.Offset()
	}
	return n, s.total
}

// close closes what was opened; what was read stands, whatever it says.
func (s *fileSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		_ = f.Close()
	}
}

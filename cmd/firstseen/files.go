package main

import (
	"context"
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
	total int64                    // stored bytes of all, 0 when not known
	past  int64                    // stored bytes of those that are done
	files map[*input.File]struct{} // those that are being read
}

// inputs gives an input for each name. Files are opened when it is their turn.
func (s *fileSet) inputs(ctx context.Context, names []string) []replay.Input {
	var list []replay.Input
	total, known := int64(0), true
	for _, name := range names {
		list = append(list, replay.Input{Name: name, Open: func() iter.Seq2[*replay.Batch, error] { return s.batches(ctx, name) }})
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

// batches reads a file. It is closed by its reader, as nobody else knows when that ends.
func (s *fileSet) batches(ctx context.Context, name string) iter.Seq2[*replay.Batch, error] {
	return func(yield func(*replay.Batch, error) bool) {
		f, err := s.open(ctx, name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.done(f)
		replay.Log(f, s.log)(yield)
	}
}

func (s *fileSet) open(ctx context.Context, name string) (*input.File, error) {
	f, err := input.Open(ctx, name, s.stdin)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[*input.File]struct{}{}
	}
	s.files[f] = struct{}{}
	return f, nil
}

// done closes a file; what was read stands, whatever that says.
func (s *fileSet) done(f *input.File) {
	_ = f.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past += f.Offset()
	delete(s.files, f)
}

// read is how many stored bytes were read, and of how many; 0 when not known.
func (s *fileSet) read() (n, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.past
	for f := range s.files {
		n += f.Offset()
	}
	return n, s.total
}

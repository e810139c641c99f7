package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"github.com/firstseen/firstseen/cmd/internal/crawllog"
	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// A fileSet is the inputs of a replay: it knows how much of them was read.
type fileSet struct {
	stdin io.Reader
	log   replay.LogOptions
	note  io.Writer // gets a message for each file without a URL; nil for none

	mu    sync.Mutex
	total int64                    // stored bytes of all, 0 when not known
	past  int64                    // stored bytes of those that are done
	files map[*input.File]struct{} // those that are being read
}

// inputs returns an input for each name. Files are opened when it is their turn.
func (s *fileSet) inputs(ctx context.Context, names []string) []replay.Input {
	var list []replay.Input
	for _, name := range names {
		list = append(list, replay.Input{Name: name, Open: func() iter.Seq2[*replay.Batch, error] { return s.batches(ctx, name) }})
	}
	s.measure(names)
	return list
}

// measure sets the size of the inputs, if all are regular files.
func (s *fileSet) measure(names []string) {
	total, known := int64(0), true
	for _, name := range names {
		info, err := os.Stat(name)
		known = known && err == nil && info.Mode().IsRegular()
		if known {
			total += info.Size()
		}
	}
	if known {
		s.total = total
	}
}

// batches reads a file. Its reader closes it, because no other goroutine knows when that ends.
func (s *fileSet) batches(ctx context.Context, name string) iter.Seq2[*replay.Batch, error] {
	return func(yield func(*replay.Batch, error) bool) {
		f, err := s.open(ctx, name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.done(f)
		var events, lines int64
		format, failed := "", false
		replay.Log(f, s.log)(func(b *replay.Batch, err error) bool {
			if failed = failed || err != nil; b != nil {
				events += int64(len(b.Events)) + b.BadCount
				if b.Split {
					events += b.Lines
				}
				lines, format = lines+b.Lines, b.Format
			}
			return yield(b, err)
		})
		if events == 0 && lines > 0 && !failed && s.note != nil {
			fmt.Fprintf(s.note, "firstseen: %s\n", noURL(name, format, lines))
		}
	}
}

// noURL is the message for an input that was read and has no URL.
func noURL(name, format string, lines int64) string {
	text := fmt.Sprintf("%s: got no URL from %s lines", name, grouped(lines))
	switch format {
	case "":
		return text
	case string(crawllog.Scrapy):
		return text + " of a Scrapy log; it names what was fetched at LOG_LEVEL = 'DEBUG' alone"
	}
	return text + "; they were read as " + format + ", and --events chooses which records count"
}

func (s *fileSet) open(ctx context.Context, name string) (*input.File, error) {
	f, err := openInput(ctx, name, s.stdin)
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

// done closes a file. An error of closing it changes nothing about the bytes that were read.
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

// openInput opens an input. The error for a URL that is no file names the command for URLs.
func openInput(ctx context.Context, name string, stdin io.Reader) (*input.File, error) {
	f, err := input.Open(ctx, name, stdin)
	if errors.Is(err, fs.ErrNotExist) && looksLikeURL(name) {
		err = fmt.Errorf("%w; this command reads files; for the canonical form of a URL, run: firstseen canon %s", err, quoted(name))
	}
	return f, err
}

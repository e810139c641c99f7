package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// A fileSet is the inputs of a command: it knows how much of them was read.
type fileSet struct {
	stdin io.Reader
	log   logs.Options

	mu    sync.Mutex
	total int64                   // stored bytes of all, 0 when not known
	past  int64                   // stored bytes of those that are done
	files map[*logs.File]struct{} // those that are being read
}

// inputs returns an input for each name. Files are opened when it is their turn.
func (s *fileSet) inputs(ctx context.Context, names []string) []logs.Input {
	var list []logs.Input
	for _, name := range names {
		list = append(list, logs.Input{Name: name, Open: func() iter.Seq2[*logs.Batch, error] { return s.batches(ctx, name) }})
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
func (s *fileSet) batches(ctx context.Context, name string) iter.Seq2[*logs.Batch, error] {
	return func(yield func(*logs.Batch, error) bool) {
		f, err := s.open(ctx, name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.done(f)
		logs.Read(f, s.log)(yield)
	}
}

// tellUnits warns of lines that were cut off, of assumptions, and of a file most of which gave no URL.
func tellUnits(w io.Writer, name string, c *logs.Counts) {
	if len(c.Cut) > 0 {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(c.Cut)) {
			parts = append(parts, what+" in "+plural(c.Cut[what], "line"))
		}
		fmt.Fprintf(w, "firstseen: %s: cut off: %s\n", name, strings.Join(parts, ", "))
	}
	if c.Assumed > 0 {
		fmt.Fprintf(w, "firstseen: %s: %s with a host and neither scheme nor port: taken for http://; for https://, add --scheme https\n", name, plural(c.Assumed, "request"))
	}
	if c.NotUTF8 {
		fmt.Fprintf(w, "firstseen: %s: not all of it is UTF-8; bytes are kept as they are. To convert Windows-1252: iconv -f WINDOWS-1252 -t UTF-8\n", name)
	}
	if !c.Lost() || len(c.Examples) == 0 { // the examples were printed already
		return
	}
	fmt.Fprintf(w, "firstseen: %s: %s of %s lines or records gave no URL, such as\n", name, grouped(c.Refused+c.Other), grouped(c.Units))
	for _, example := range c.Examples {
		fmt.Fprintf(w, "  %s\n", example)
	}
}

func (s *fileSet) open(ctx context.Context, name string) (*logs.File, error) {
	f, err := openInput(ctx, name, s.stdin)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[*logs.File]struct{}{}
	}
	s.files[f] = struct{}{}
	return f, nil
}

// done closes a file. An error of closing it changes nothing about the bytes that were read.
func (s *fileSet) done(f *logs.File) {
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

// endsAll is an error that would come again with each file.
type endsAll struct{ error }

func (e endsAll) Unwrap() error { return e.error }

// each has do read one file after another, until one ends all or ctx ends, and shows how far that is.
func (s *fileSet) each(ctx context.Context, w io.Writer, names []string, line func(passed time.Duration) string, do func(name string) error) error {
	s.measure(names)
	shown := showProgress(w, line)
	defer shown.stop()
	var errs []error
	for _, name := range names {
		err := do(name)
		errs = append(errs, err)
		if end := (endsAll{}); err != nil && (ctx.Err() != nil || errors.As(err, &end) || errors.Is(err, store.ErrFailed)) {
			break
		}
	}
	return worst(errs...)
}

// part is one count in the line about a file.
type part struct {
	n    int64
	what string
}

// partTexts are the parts that there are.
func partTexts(parts ...part) (texts []string) {
	for _, p := range parts {
		if p.n > 0 {
			texts = append(texts, grouped(p.n)+" "+p.what)
		}
	}
	return texts
}

// openInput opens an input. The error for a URL that is no file names the command for URLs.
func openInput(ctx context.Context, name string, stdin io.Reader) (*logs.File, error) {
	f, err := logs.Open(ctx, name, stdin)
	if errors.Is(err, fs.ErrNotExist) && looksLikeURL(name) {
		err = fmt.Errorf("%w; this command reads files; for the canonical form of a URL, run: firstseen canon %s", err, quoted(name))
	}
	return f, err
}

// logFlags are the flags for reading logs.
type logFlags struct{ format, base, field, scheme, events, flag string }

func (l *logFlags) add(flags *pflag.FlagSet) {
	l.addFormat(flags)
	l.addEvents(flags)
}

func (l *logFlags) addEvents(flags *pflag.FlagSet) {
	oneOf(flags, &l.events, "events", "auto", []string{"auto", "all", "fetches", "links"}, "records to count: fetches, links (found, not fetched), all, or auto: fetches for Heritrix, else all")
}

// addFormat adds the flags for what a log looks like.
func (l *logFlags) addFormat(flags *pflag.FlagSet) {
	l.addLook(flags, "format")
	baseFlag(flags, &l.base, logs.DefaultBase, "scheme and host for access logs that have only paths, and for relative locations of sitemaps and feeds, which are refused without it")
}

// addKept adds them for a command that keeps the URLs, with a name for --format: a host that is made up would stay.
func (l *logFlags) addKept(flags *pflag.FlagSet, name string) {
	l.addLook(flags, name)
	baseFlag(flags, &l.base, "", "scheme and host for access logs that have only paths, and for relative locations of sitemaps and feeds; default: they are refused")
}

// baseFlag adds the flag for the host of paths.
func baseFlag(flags *pflag.FlagSet, at *string, base, usage string) {
	*at = base
	flags.Var(&value{"string", func(text string) error {
		if _, err := canon.ParseBase(text); text != "" && (err != nil || !strings.Contains(text, "://")) {
			return fmt.Errorf("got %q; want a scheme and a host, such as https://example.org", text)
		}
		*at = text
		return nil
	}, func() string { return *at }}, "base", usage)
}

func (l *logFlags) addLook(flags *pflag.FlagSet, name string) {
	formats := []string{"auto"}
	for _, f := range logs.Formats() {
		formats = append(formats, string(f))
	}
	l.events, l.flag = "auto", name
	oneOf(flags, &l.format, name, "auto", formats, "format of the input: auto, or one of "+strings.Join(formats[1:], ", "))
	flags.StringVar(&l.field, "url-field", "", `what contains the URL: a field of JSON objects, as request.endpoint, or a column of a table by name or number; of several, as endpoint,url, the first that is there; default: "url", or the name that the program which wrote them uses`)
	flags.StringVar(&l.scheme, "scheme", "", "scheme for hosts without one, such as https; default: those of lists and tables are refused, and of logs of servers taken for http")
}

func (l *logFlags) options() logs.Options {
	o := logs.Options{Events: logs.Choice(l.events), Base: l.base, NeedHost: l.base == "", URLField: l.field, Scheme: strings.TrimSuffix(l.scheme, "://"), Flag: "--" + l.flag}
	if l.format != "auto" {
		o.Format = logs.Format(l.format)
	}
	return o
}

package crawllog

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/internal/fault"
)

// Options modify reading. The zero value is fine.
type Options struct {
	// Format is the format to read. The default is to detect it.
	Format Format
	// Base is the scheme and host for access logs that have only paths, such as
	// "http://example.com". The default is "http://host.invalid".
	Base string
	// URLField is the field of a JSON object that holds the URL. The default is
	// "url", or what the program that made the log calls it.
	URLField string
	// Links asks for the outlinks that WARC metadata records hold, and not for the
	// fetches. The default is false.
	Links bool
	// Declared asks for what the responses in WARC and ARC files declare of their URLs. The
	// default is false.
	Declared bool
	// Idle is called when a pipe has no more lines for the moment, and the records up to
	// there were read. The default is to do nothing.
	Idle func()
}

// ErrUnknown means that a log is of no known format, and no list of URLs either.
var ErrUnknown = errors.New("unknown format")

// DefaultBase stands for the host that an access log doesn't name.
const DefaultBase = "http://host.invalid"

func (o Options) withDefaults() Options {
	if o.Base == "" {
		o.Base = DefaultBase
	}
	return o
}

// Counts are what a reading came by, up to the record at hand.
type Counts struct {
	Lines   int64 // lines, or records of an archive
	Skipped int64 // those that hold no record of a URL
}

// Read returns the format of a log and its records. If counts is not nil, Read keeps it up to
// date.
func Read(f *input.File, opt Options, counts *Counts) (Format, iter.Seq2[Record, error]) {
	opt = opt.withDefaults()
	if opt.Format == "" {
		opt.Format = DetectFile(f)
	}
	if counts == nil {
		counts = new(Counts)
	}
	switch opt.Format {
	case WARC, ARC:
		return opt.Format, readWARC(f, opt, counts)
	case Sitemap:
		return Sitemap, readSitemap(f, counts)
	case WACZ:
		return WACZ, readWACZ(f, opt, counts)
	case Parquet:
		return Parquet, readParquet(f, opt, counts)
	case Binary:
		return opt.Format, failed(fmt.Errorf("cannot read %s; got %w; want text or an archive", f.Name, input.ErrBinary))
	}
	if opt.Format == Unknown {
		return opt.Format, failed(fault.As(ErrUnknown, "cannot read %s; it is none of the known formats, and no list with one URL a line: name the format with --format, or take each whole line as a URL with --format list", f.Name))
	}
	p, err := newParser(opt)
	if err != nil {
		return opt.Format, failed(err)
	}
	return opt.Format, lines(f, p, opt.Idle, counts)
}

func failed(err error) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { yield(Record{}, err) }
}

// A parser reads a format line by line. It may hold lines back until a record is
// whole. The error of a line is errSkip, or says why it can't be read.
type parser interface {
	line(text string, emit func(Record)) error
	end(emit func(Record)) error
}

// stateless is a parser of lines that are a record each.
type stateless func(text string, emit func(Record)) error

func (p stateless) line(text string, emit func(Record)) error { return p(text, emit) }
func (stateless) end(func(Record)) error                      { return nil }

// newParser returns the parser of a line format.
func newParser(opt Options) (parser, error) {
	switch opt.Format {
	case List:
		return stateless(parseList), nil
	case Table:
		return &tableParser{}, nil
	case CDX:
		return &cdxParser{}, nil
	case CDXJ:
		return stateless(parseCDXJ), nil
	case Heritrix:
		return stateless(parseHeritrix), nil
	case Access:
		return stateless(accessParser(opt.Base).parse), nil
	case JSON:
		return &jsonParser{opt: opt}, nil
	case NutchCSV:
		return stateless(parseNutchCSV), nil
	case NutchText:
		return &nutchParser{}, nil
	case Scrapy:
		return stateless(parseScrapy), nil
	case Wget:
		return &wgetParser{}, nil
	case W3C:
		return &w3cParser{base: opt.Base}, nil
	case S3:
		return stateless(parseS3), nil
	case ELB:
		return stateless(parseELB), nil
	}
	return nil, fmt.Errorf("cannot read log; got unknown format %q", opt.Format)
}

// lineRun is one reading of lines.
type lineRun struct {
	p       parser
	yield   func(Record, error) bool
	number  int64
	stopped bool
	counts  *Counts
}

func (r *lineRun) emit(rec Record) {
	if rec.Line == 0 {
		rec.Line = r.number
	}
	r.stopped = r.stopped || !r.yield(rec, nil)
}

// lines reads a log of lines.
func lines(f *input.File, p parser, idle func(), counts *Counts) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		run := &lineRun{p: p, yield: yield, counts: counts}
		for block, err := range input.Blocks(f, '\n') {
			if err != nil {
				yield(Record{}, fmt.Errorf("cannot read %s to its end: %w", f.Name, err))
				return
			}
			run.block(block)
			block.Release()
			if run.stopped {
				return
			}
			if block.Idle && idle != nil {
				idle()
			}
		}
		run.check(p.end(run.emit), "")
	}
}

func (r *lineRun) block(b *input.Block) {
	if b.TooLong {
		r.next()
		r.check(bad("got a line of more than %d bytes", len(b.Text)), string(b.Text[:200]))
		return
	}
	text := b.Text
	if b.First == 1 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	input.Lines(text, '\n', func(line []byte) bool {
		r.next()
		s := string(line)
		r.check(r.p.line(s, r.emit), s)
		return !r.stopped
	})
}

func (r *lineRun) next() {
	r.number++
	r.counts.Lines++
}

// check counts a line without a record, or returns its error.
func (r *lineRun) check(err error, text string) {
	switch {
	case err == nil || r.stopped:
	case errors.Is(err, errSkip):
		r.counts.Skipped++
	default:
		r.stopped = !r.yield(Record{}, &LineError{Line: r.number, Text: text, Err: err})
	}
}

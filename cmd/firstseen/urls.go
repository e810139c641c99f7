package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
)

// urlFlags say where the URLs of canon, explain and hash come from.
type urlFlags struct {
	input string
	json  bool
}

func (u *urlFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&u.input, "input", "lines", "form of stdin: lines, or jsonl (objects with a field input, or input_bytes in base64)")
	flags.BoolVar(&u.json, "json", false, "write one JSON object for each input")
}

// maxInput bounds a line of stdin in bytes; canonical forms are bounded by far less.
const maxInput = 4 << 20

// inputs returns the URLs of the arguments or, without any, of stdin. An error of the
// pair is the input's own, unless it is a failure, which ends the sequence.
func (u *urlFlags) inputs(stdin func() (io.Reader, error), args []string) (iter.Seq2[string, error], error) {
	if u.input != "lines" && u.input != "jsonl" {
		return nil, misusef("cannot read input; got --input %s; want lines or jsonl", u.input)
	}
	texts := fromArgs(args)
	if len(args) == 0 {
		in, err := stdin()
		if err != nil {
			return nil, err
		}
		texts = fromLines(in)
	}
	if u.input == "jsonl" {
		texts = fromJSON(texts)
	}
	return texts, nil
}

// A flushingReader writes the answers so far before it reads more: the next line of a pipe
// may be long in coming.
type flushingReader struct {
	r   io.Reader
	out *output
}

func (f *flushingReader) Read(p []byte) (int, error) {
	if err := f.out.Flush(); err != nil {
		return 0, fmt.Errorf("cannot write output: %w", err)
	}
	return f.r.Read(p)
}

func fromArgs(args []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, arg := range args {
			if !yield(arg, nil) {
				return
			}
		}
	}
}

func fromLines(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for first := true; ; first = false {
			line, tooLong, err := logs.ReadLine(in, maxInput)
			if first {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if err != nil && err != io.EOF {
				yield("", failure{fmt.Errorf("cannot read standard input: %w", err)})
				return
			}
			if err == io.EOF && len(line) == 0 {
				return
			}
			var refused error
			if tooLong > 0 {
				refused = fault.As(canon.ErrTooLong, "cannot read line of %d bytes; want at most %d", tooLong, maxInput)
			}
			text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
			if !yield(text, refused) || err == io.EOF {
				return
			}
		}
	}
}

// errJSON means that a line of --input jsonl is no object with a text field input.
var errJSON = errors.New("bad input object")

func fromJSON(lines iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for line, err := range lines {
			var object struct {
				Input *string `json:"input"`
				Bytes []byte  `json:"input_bytes"` // as the output has it
			}
			if err == nil {
				if err = logs.CheckJSON([]byte(line)); err != nil {
					err = fmt.Errorf("cannot read line; %w; give a URL that is not UTF-8 as input_bytes, in base64: %w", err, errJSON)
				} else if err = json.Unmarshal([]byte(line), &object); err != nil || object.Input == nil && object.Bytes == nil {
					err = fmt.Errorf("cannot read line; want an object with a text field input: %w", errJSON)
				} else {
					line = string(object.Bytes)
					if object.Bytes == nil {
						line = *object.Input
					}
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// describe returns an error as the JSON output of every command has it.
func describe(err error) *wire.Fault {
	code := canon.Code(err)
	var coded interface{ Code() string }
	switch {
	case errors.Is(err, errJSON):
		code = "json"
	case errors.As(err, &coded):
		code = coded.Code() // a reason of sxurl or hasheduri
	}
	return &wire.Fault{Code: code, Message: err.Error()}
}

// An answer is what a command has to say of one input. Its JSON form is the object
// of --json; its text is the line, or lines, of plain output.
type answer interface{ text() string }

// object is an answer of named values, in their order.
type object struct {
	line    string
	members []member
}

type member struct {
	name  string
	value any
}

func (o object) text() string { return o.line }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendJSON(append(appendJSON(out, m.name), ':'), m.value)
	}
	return append(out, '}'), nil
}

// each asks f about every input and writes the answers in order: in plain form a
// refused input is an empty line, with its reason on stderr.
//
// Standard input may be compressed, and waiting for it ends with the context of cmd.
func (u *urlFlags) each(cmd *cobra.Command, a *app, args []string, f func(raw string) (answer, error)) error {
	out := newOutput(a.out)
	texts, err := u.inputs(func() (io.Reader, error) {
		file, err := logs.Open(cmd.Context(), "-", a.in)
		return &flushingReader{file, out}, err
	}, args)
	if err != nil {
		return err
	}
	refused := int64(0)
	for raw, err := range texts {
		var end failure
		if errors.As(err, &end) {
			if unwritten := endOutput(out, 0); unwritten != nil {
				return unwritten // the flushingReader ended for it
			}
			return err
		}
		var got answer
		if err == nil {
			got, err = f(raw)
		}
		if err != nil {
			refused++
			u.refuse(a, out, raw, err)
			if hint := hintOfArgument(cmd.Name(), raw); hint != "" && len(args) > 0 {
				fmt.Fprintf(a.err, "firstseen: %s\n", hint)
			}
		} else if u.json {
			out.json(got)
		} else {
			out.line(got.text())
		}
	}
	return endOutput(out, refused)
}

func (u *urlFlags) refuse(a *app, out *output, raw string, err error) {
	if u.json {
		r := []member{{"input", raw}}
		if b := wire.BytesOf(raw); b != nil && !errors.Is(err, errJSON) { // else raw is no URL, but the line that should have had one
			r = append(r, member{"input_bytes", b})
		}
		out.json(object{members: append(r, member{"error", describe(err)})})
		return
	}
	out.line("")
	out.flushIfTerminal()
	fmt.Fprintf(a.err, "firstseen: %s: %v\n", shown(raw), err)
}

// shown is a URL as it can stand in a message.
func shown(raw string) string {
	const most = 120
	if len(raw) > most {
		raw = raw[:most] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(raw, "\uFFFD"))
}

func key(form string) string { return hashkey.SumShortString(form).Hex() }

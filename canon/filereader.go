package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// fileReader reads JSON token by token, so that every error names its line;
// encoding/json alone knows no place for unknown and duplicate keys.
type fileReader struct {
	data  []byte
	dec   *json.Decoder
	lists *lists // of the rules in the file
	bad   int64  // where the syntax error is; 0 if there is none
	at    int64  // where an entry ends that can never hold; 0 if there is none
}

func newFileReader(data []byte) *fileReader {
	return &fileReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
}

// line is the number of the line, from 1, of the token read last.
func (f *fileReader) line() int {
	at := max(f.bad, f.dec.InputOffset())
	if f.at > 0 {
		at = f.at
	}
	return 1 + bytes.Count(f.data[:min(int(at), len(f.data))], []byte("\n"))
}

func (f *fileReader) token() (json.Token, error) {
	t, err := f.dec.Token()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		f.bad = syntax.Offset
	} else if err != nil {
		f.bad = int64(len(f.data))
		err = errors.New("got the end of the file inside the object; want the rest")
	}
	return t, err
}

func (f *fileReader) delim(want json.Delim) error {
	t, err := f.token()
	if err == nil && t != want {
		err = fmt.Errorf("got %v; want %v", t, want)
	}
	return err
}

// object reads an object and calls value for each key, to read its value.
func (f *fileReader) object(value func(key string) error) error {
	if err := f.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for f.dec.More() {
		t, err := f.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // keys are strings, or token would have failed
		if seen[key] {
			return fmt.Errorf("got key %q twice; want it once", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return f.delim('}')
}

// array reads an array and calls element to read each element.
func (f *fileReader) array(element func() error) error {
	if err := f.delim('['); err != nil {
		return err
	}
	for f.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return f.delim(']')
}

func (f *fileReader) text() (string, error) {
	t, err := f.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("got %v; want a string", t)
	}
	return s, nil
}

// end wants nothing more.
func (f *fileReader) end() error {
	if t, err := f.dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("got %v after the object; want the end of the file", t)
	}
	return nil
}

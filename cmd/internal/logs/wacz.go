package logs

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// wacz reads the WARC files in the archive folder of a WACZ (webrecorder WACZ
// 1.1.1). A zip has its index at the end, so it can't be read from a pipe.
func (s *sink) wacz(f *File) error {
	stored, size := f.Stored()
	if stored == nil {
		return fmt.Errorf("cannot read %s; got a zip in a pipe; want a file", f.Name)
	}
	directory := &boundedAt{ReaderAt: stored, left: maxDirectory}
	z, err := zip.NewReader(directory, size)
	directory.left = math.MaxInt64
	if err != nil {
		return fmt.Errorf("cannot read zip %s: %w", f.Name, err)
	}
	found := false
	for _, member := range z.File {
		if !strings.HasPrefix(member.Name, "archive/") || member.FileInfo().IsDir() || s.stopped {
			continue
		}
		found = true
		if !s.flush() {
			break
		}
		s.number, s.member, s.b.Member = 0, member.Name, member.Name
		if err := s.read(f.ctx, member); err != nil {
			return err
		}
	}
	if !found {
		return fault.As(ErrFormat, "cannot read %s; got a zip without a folder archive; want a WACZ, or the files in it", f.Name)
	}
	return nil
}

// maxDirectory is the maximum size of the directory of a zip, in bytes. The directory is kept in
// memory, and takes about three times its size.
const maxDirectory = 64 << 20

// boundedAt limits how many bytes may be read from a reader.
type boundedAt struct {
	io.ReaderAt
	left int64
}

func (b *boundedAt) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("got a directory of more than %d bytes", maxDirectory)
	}
	return b.ReaderAt.ReadAt(p, off)
}

// read reads one WARC file.
func (s *sink) read(ctx context.Context, member *zip.File) error {
	stored, err := member.Open()
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", member.Name, err)
	}
	in, err := New(ctx, member.Name, stored)
	if err != nil {
		return errors.Join(err, stored.Close())
	}
	defer func() { _ = in.Close() }() // read only
	return s.warc(in)
}

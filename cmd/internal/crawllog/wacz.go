package crawllog

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/internal/fault"
)

// readWACZ reads the WARC files in the archive folder of a WACZ (webrecorder WACZ
// 1.1.1). A zip has its index at the end, so it can't be read from a pipe.
func readWACZ(f *input.File, opt Options, counts *Counts) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stored, size := f.Stored()
		if stored == nil {
			yield(Record{}, fmt.Errorf("cannot read %s; got a zip in a pipe; want a file", f.Name))
			return
		}
		directory := &boundedAt{ReaderAt: stored, left: maxDirectory}
		z, err := zip.NewReader(directory, size)
		directory.left = math.MaxInt64
		if err != nil {
			yield(Record{}, fmt.Errorf("cannot read zip %s: %w", f.Name, err))
			return
		}
		found := false
		for _, member := range z.File {
			if !strings.HasPrefix(member.Name, "archive/") || member.FileInfo().IsDir() {
				continue
			}
			found = true
			if !readMember(f.Context(), member, opt, counts, yield) {
				return
			}
		}
		if !found {
			yield(Record{}, fault.As(input.ErrBinary, "cannot read %s; got a zip without a folder archive; want a WACZ", f.Name))
		}
	}
}

// maxDirectory is the maximum size of the directory of a zip, in bytes. The directory is kept in
// memory, and takes about three times its size.
const maxDirectory = 64 << 20

// boundedAt is a reader of which only so many bytes may be read.
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

// readMember reads one WARC file, and reports whether the caller still reads.
func readMember(ctx context.Context, member *zip.File, opt Options, counts *Counts, yield func(Record, error) bool) bool {
	stored, err := member.Open()
	if err != nil {
		return yield(Record{}, fmt.Errorf("cannot open %s: %w", member.Name, err))
	}
	warc, err := input.New(ctx, member.Name, stored)
	if err != nil {
		return yield(Record{}, errors.Join(err, stored.Close()))
	}
	defer func() { _ = warc.Close() }() // read only
	return readWARCFrom(bufio.NewReaderSize(warc, 64<<10), member.Name, opt, counts, yield)
}

package crawllog

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
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
		z, err := zip.NewReader(stored, size)
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
			if !readMember(member, opt, counts, yield) {
				return
			}
		}
		if !found {
			yield(Record{}, fmt.Errorf("cannot read %s; got a zip without a folder archive; want a WACZ: %w", f.Name, input.ErrBinary))
		}
	}
}

// readMember reads one WARC file and tells whether the caller wants more.
func readMember(member *zip.File, opt Options, counts *Counts, yield func(Record, error) bool) bool {
	stored, err := member.Open()
	if err != nil {
		return yield(Record{}, fmt.Errorf("cannot open %s: %w", member.Name, err))
	}
	warc, err := input.New(member.Name, stored)
	if err != nil {
		return yield(Record{}, errors.Join(err, stored.Close()))
	}
	defer func() { _ = warc.Close() }() // read only
	return readWARCFrom(bufio.NewReaderSize(warc, 64<<10), member.Name, opt, counts, yield)
}

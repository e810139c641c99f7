package input

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the longest zstd window accepted, and so what decompression may
	// hold: "zstd --long=27" makes 128 MiB.
	maxWindow = 128 << 20
	// maxDictionary bounds the dictionary of a WARC file.
	maxDictionary = 64 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// dictFrame begins the skippable frame that holds a WARC's dictionary
	// (iipc "WARC Zstandard compression" 1.0, section 4).
	dictFrame = []byte{0x5d, 0x2a, 0x4d, 0x18}
	// dictMagic begins a dictionary in zstd's own format, RFC 8878 section 5.
	dictMagic = []byte{0x37, 0xa4, 0x30, 0xec}
)

// decompress looks at the first bytes of stored and sets the reader for them.
func (f *File) decompress(stored *bufio.Reader) error {
	f.packed = stored
	head, err := stored.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return f.gunzip(stored)
	case bytes.Equal(head, dictFrame):
		options, err := dictionary(stored)
		if err != nil {
			return err
		}
		return f.unzstd(stored, options...)
	case bytes.Equal(head, zstdMagic), isSkippable(head):
		return f.unzstd(stored)
	}
	f.r = stored
	return nil
}

func isSkippable(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], dictFrame[1:])
}

func (f *File) gunzip(stored io.Reader) error {
	z, err := gzip.NewReader(stored)
	if err != nil {
		return err
	}
	f.Compression = "gzip"
	f.r = bufio.NewReaderSize(&endable{f.ctx, z}, 256<<10)
	return nil
}

func (f *File) unzstd(stored io.Reader, options ...zstd.DOption) error {
	options = append(options, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	z, err := zstd.NewReader(stored, options...)
	if err != nil {
		return err
	}
	f.Compression = "zstd"
	f.close = append([]func() error{func() error { z.Close(); return nil }}, f.close...)
	f.r = bufio.NewReaderSize(&endable{f.ctx, z}, 256<<10)
	return nil
}

// dictionary reads the leading frame of a WARC file: the dictionary is in it as
// it is, or compressed without one.
func dictionary(stored io.Reader) ([]zstd.DOption, error) {
	var head [8]byte
	if _, err := io.ReadFull(stored, head[:]); err != nil {
		return nil, fmt.Errorf("cannot read dictionary frame: %w", err)
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxDictionary {
		return nil, fmt.Errorf("cannot read dictionary; got %d bytes; want at most %d", n, maxDictionary)
	}
	dict := make([]byte, n)
	if _, err := io.ReadFull(stored, dict); err != nil {
		return nil, fmt.Errorf("cannot read dictionary of %d bytes: %w", n, err)
	}
	if bytes.HasPrefix(dict, zstdMagic) {
		z, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDictionary))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		if dict, err = z.DecodeAll(dict, nil); err != nil {
			return nil, fmt.Errorf("cannot decompress dictionary: %w", err)
		}
	}
	if bytes.HasPrefix(dict, dictMagic) {
		return []zstd.DOption{zstd.WithDecoderDicts(dict)}, nil
	}
	return []zstd.DOption{zstd.WithDecoderDictRaw(0, dict)}, nil
}

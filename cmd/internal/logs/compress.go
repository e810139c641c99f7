package logs

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

const (
	// maxWindow is the longest zstd window accepted, and so what decompression may
	// hold: "zstd --long=27" makes 128 MiB.
	maxWindow = 128 << 20
	// maxDictionary bounds the dictionary of a WARC file.
	maxDictionary = 64 << 20
)

var (
	gzipMagic  = []byte{0x1f, 0x8b}
	bzip2Magic = []byte("BZh")
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// dictFrame begins the skippable frame that holds a WARC's dictionary
	// (iipc "WARC Zstandard compression" 1.0, section 4).
	dictFrame = []byte{0x5d, 0x2a, 0x4d, 0x18}
	// dictMagic begins a dictionary in zstd's own format, RFC 8878 section 5.
	dictMagic = []byte{0x37, 0xa4, 0x30, 0xec}
)

// decompress looks at the first bytes of stored and sets the reader for them.
func (f *File) decompress(stored *bufio.Reader) error {
	f.packed = stored
	f.parts = []part{{}}
	head, err := stored.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	err = nil
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		err = f.gunzip(stored)
	case bytes.HasPrefix(head, bzip2Magic):
		f.unpacked("bzip2", bzip2.NewReader(stored))
	case bytes.Equal(head, dictFrame):
		var options []zstd.DOption
		if options, err = dictionary(stored); err == nil {
			f.parts[0].stored = f.place()
			err = f.unzstd(stored, options...)
		}
	case bytes.Equal(head, zstdMagic), isSkippable(head):
		err = f.unzstd(stored)
	default:
		f.r = stored
	}
	if err != nil {
		return err
	}
	return f.decode()
}

// unpacked sets the reader of the decompressed text.
func (f *File) unpacked(compression string, r io.Reader) {
	f.Compression = compression
	f.text = &counter{ctx: f.ctx, r: r}
	f.r = bufio.NewReaderSize(f.text, 256<<10)
}

// decode turns UTF-16 with a byte-order mark into UTF-8.
func (f *File) decode() error {
	mark, err := f.r.Peek(4)
	if err != nil && err != io.EOF {
		return nil // the Read that meets it returns it
	}
	if isUTF16 := bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")); isUTF16 && !bytes.Equal(mark, []byte("\xff\xfe\x00\x00")) {
		f.r = bufio.NewReaderSize(unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(f.r), 256<<10)
	}
	return nil
}

// binaries are the magic numbers of unsupported formats.
var binaries = []struct{ magic, name string }{
	{"\xfd7zXZ\x00", "xz, which is not read: pipe it through xz -dc"}, {"7z\xbc\xaf\x27\x1c", "7-Zip, which is not read: unpack it first"},
	{"\x04\x22\x4d\x18", "LZ4, which is not read: pipe it through lz4 -dc"}, {"Rar!", "RAR, which is not read: unpack it first"},
	{"\xff\x06\x00\x00sNaPpY", "Snappy, which is not read: unpack it first"}, {"\x1f\x9d", "data of compress, which are not read: pipe them through gzip -dc"},
	{"\xff\xfe\x00\x00", "UTF-32, which is not read: iconv -f UTF-32 -t UTF-8"}, {"\x00\x00\xfe\xff", "UTF-32, which is not read: iconv -f UTF-32 -t UTF-8"},
	{"SQLite format 3", "an SQLite database"}, {"%PDF", "a PDF"}, {"\xd0\xcf\x11\xe0", "an Office document: export it as CSV"}, {"\x7fELF", "a program"},
}

// binaryName names the binary format of the data; "" for text.
func binaryName(head []byte) string {
	for _, b := range binaries {
		if bytes.HasPrefix(head, []byte(b.magic)) {
			return b.name
		}
	}
	if nul := bytes.IndexByte(head, 0); nul < 0 || nul >= binaryBytes || nul > 0 && head[nul-1] == '\n' && len(bytes.Trim(head[nul:], "\x00\r\n")) == 0 { // what a crash leaves at the end
		return ""
	}
	for i, byteOrder := range []string{"LE", "BE"} { // text of mostly ASCII has each second byte 0
		if n := len(head) / 2; n > 2 && bytes.Count(head, []byte{0}) > n/2 && head[1-i] == 0 && head[3-i] == 0 {
			return "UTF-16 without a byte-order mark: iconv -f UTF-16" + byteOrder + " -t UTF-8"
		}
	}
	return "binary data"
}

func isSkippable(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], dictFrame[1:])
}

// A part is the start of a gzip member or zstd frame: its offset in the file, and in the decompressed text.
type part struct{ stored, text int64 }

// Place is where in the stored file the next byte of Reader is: of a compressed file, where the gzip member or zstd frame
// begins that has it, since nothing in it can be read without its beginning. Bzip2 is one part.
func (f *File) Place() int64 {
	if f.text == nil {
		return f.place()
	}
	at, i := f.text.n.Load()-int64(f.r.Buffered()), 0
	for i+1 < len(f.parts) && f.parts[i+1].text <= at {
		i++
	}
	f.parts = slices.Delete(f.parts, 0, i)
	return f.parts[0].stored
}

// place is where in the stored file the decompressor is.
func (f *File) place() int64 { return f.stored.n.Load() - int64(f.packed.Buffered()) }

// parts reads the gzip members or zstd frames of a file one after another, and records in f where each begins, for as long as f.r may
// still need it. Zeros behind the last are the padding of tapes and block devices.
type parts struct {
	f    *File
	z    io.Reader
	next func() error // resets z to the part that f.packed is at
}

// unpackParts sets the reader of a file whose first part z reads.
func (f *File) unpackParts(compression string, z io.Reader, next func() error) {
	f.unpacked(compression, &parts{f, z, next})
}

func (m *parts) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && err == io.EOF {
			err = nil // which the next Read gets again
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		in := m.f.packed
		for next, err := in.Peek(1); err != nil || next[0] == 0; next, err = in.Peek(1) {
			if err != nil {
				return 0, err
			}
			_, _ = in.Discard(1)
		}
		m.f.Place() // drops the parts that were passed
		begins := part{m.f.place(), m.f.text.n.Load()}
		if last := len(m.f.parts) - 1; m.f.parts[last].text == begins.text { // nothing was in the last one
			m.f.parts = m.f.parts[:last]
		}
		m.f.parts = append(m.f.parts, begins)
		if err := m.next(); err != nil {
			return 0, short(err)
		}
	}
}

func (f *File) gunzip(stored *bufio.Reader) error {
	z, err := gzip.NewReader(stored)
	if err != nil {
		return err
	}
	z.Multistream(false)
	f.unpackParts("gzip", z, func() error {
		err := z.Reset(stored)
		z.Multistream(false)
		return err
	})
	return nil
}

func (f *File) unzstd(stored *bufio.Reader, options ...zstd.DOption) error {
	options = append(options, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	z, err := zstd.NewReader(newFrame(stored), options...)
	if err != nil {
		return err
	}
	f.close = append([]func() error{func() error { z.Close(); return nil }}, f.close...)
	f.unpackParts("zstd", z, func() error { return z.Reset(newFrame(stored)) })
	return nil
}

// A frame passes on the bytes of one zstd frame (RFC 8878, section 3.1) and ends with it. The decoder alone would read on into the
// next frame, without saying where that begins.
type frame struct {
	in   *bufio.Reader
	left int64 // of the header or block that is read
	last bool  // nothing of the frame comes after it
	sum  int64 // bytes of the checksum after the last block
}

func newFrame(in *bufio.Reader) *frame {
	head, _ := in.Peek(zstd.HeaderMaxSize)
	var h zstd.Header
	switch err := h.Decode(head); {
	case err != nil: // the decoder says what is wrong
		return &frame{in: in, left: math.MaxInt64, last: true}
	case h.Skippable:
		return &frame{in: in, left: 8 + int64(h.SkippableSize), last: true}
	}
	z := &frame{in: in, left: int64(h.HeaderSize)}
	if h.HasCheckSum {
		z.sum = 4
	}
	return z
}

func (z *frame) Read(p []byte) (int, error) {
	if z.left == 0 && z.last {
		return 0, io.EOF
	}
	if z.left == 0 {
		head, err := z.in.Peek(3)
		if err != nil {
			return 0, short(err)
		}
		block := int64(head[0]) | int64(head[1])<<8 | int64(head[2])<<16
		if z.left = 3 + block>>3; block>>1&3 == 1 { // one byte, so many times
			z.left = 4
		}
		if z.last = block&1 == 1; z.last {
			z.left += z.sum
		}
	}
	n, err := z.in.Read(p[:min(int64(len(p)), z.left)])
	z.left -= int64(n)
	return n, err
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

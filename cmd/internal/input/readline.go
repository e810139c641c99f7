package input

import (
	"bufio"
	"errors"
)

// longPrefix is how much of a line that is too long ReadLine returns.
const longPrefix = 64

// ReadLine reads a line of at most max bytes, including its line end. It reads
// a longer line to its end without holding it: line is then its first 64 bytes,
// and tooLong its length in bytes, which is 0 for every other line.
//
// The error is that of r. Text before it is a last line without a line end, or,
// if the error is not io.EOF, a line that was cut off.
func ReadLine(r *bufio.Reader, max int) (line []byte, tooLong int64, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		switch {
		case tooLong > 0:
			tooLong += int64(len(piece))
		case len(line)+len(piece) > max:
			tooLong = int64(len(line) + len(piece))
			line = append(line, piece...)
			line = append([]byte(nil), line[:min(len(line), longPrefix)]...)
		default:
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

package captures

import (
	"encoding/binary"
	"errors"
	"time"
)

// Capture is what one fetch gave.
type Capture struct {
	// URL is the URL as it was fetched.
	URL string
	// Time of the fetch, kept in seconds.
	Time time.Time
	// Status of HTTP; 0 if unknown.
	Status int
	// Digest of the content, in any one alphabet; at most 65,535 bytes.
	Digest string
	// Redirect is where the fetch was redirected to; "" if it wasn't. At most 65,535 bytes.
	Redirect string
}

// errRow says that a row is not what this package writes.
var errRow = errors.New("damaged row")

const maxText = 1<<16 - 1

func (c *Capture) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Time.Unix()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(max(0, min(c.Status, maxText))))
	dst = appendText(dst, c.Digest)
	dst = appendText(dst, c.Redirect)
	return append(dst, c.URL...)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

func parseCapture(row []byte) (c Capture, err error) {
	if len(row) < 10 {
		return c, errRow
	}
	c.Time = time.Unix(int64(binary.BigEndian.Uint64(row)), 0).UTC()
	c.Status = int(binary.BigEndian.Uint16(row[8:]))
	row = row[10:]
	if c.Digest, row, err = cutText(row); err != nil {
		return c, err
	}
	if c.Redirect, row, err = cutText(row); err != nil {
		return c, err
	}
	c.URL = string(row)
	return c, nil
}

func cutText(row []byte) (string, []byte, error) {
	if len(row) < 2 {
		return "", nil, errRow
	}
	end := 2 + int(binary.BigEndian.Uint16(row))
	if len(row) < end {
		return "", nil, errRow
	}
	return string(row[2:end]), row[end:], nil
}

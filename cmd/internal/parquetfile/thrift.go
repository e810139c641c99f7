package parquetfile

import (
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkThrift passes over a structure in the compact protocol of Thrift, without keeping any of it. The library would
// allocate as many elements as a list says that it has, and nest as deep as structures do.
func checkThrift(b []byte) error {
	c := thriftCheck{r: (&thrift.CompactProtocol{}).NewReaderFromBytes(b), left: maxElements}
	return c.value(thrift.STRUCT, 0)
}

type thriftCheck struct {
	r    thrift.Reader
	left int // elements of lists, sets and maps that may still come
}

func (c *thriftCheck) value(kind thrift.Type, depth int) (err error) {
	if depth > maxThriftDepth {
		return errBroken
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = c.r.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = c.r.ReadInt64()
	case thrift.DOUBLE:
		_, err = c.r.ReadFloat64()
	case thrift.UUID: // of twice the length
		_, _ = c.r.ReadFloat64()
		_, err = c.r.ReadFloat64()
	case thrift.BINARY:
		_, err = c.r.ReadBytes() // which is a part of b
	case thrift.LIST, thrift.SET:
		var l thrift.List
		if l, err = c.r.ReadList(); err == nil {
			return c.many(l.Size, depth, l.Type)
		}
	case thrift.MAP:
		var m thrift.Map
		if m, err = c.r.ReadMap(); err == nil {
			return c.many(m.Size, depth, m.Key, m.Value)
		}
	case thrift.STRUCT:
		for {
			f, err := c.r.ReadField()
			if err != nil || f.Type == thrift.STOP {
				return err
			}
			if f.Type == thrift.TRUE || f.Type == thrift.FALSE {
				continue // a field has its value in its type
			}
			if err := c.value(f.Type, depth+1); err != nil {
				return err
			}
		}
	default:
		err = errBroken
	}
	return err
}

// many passes over n values, or n pairs of them.
func (c *thriftCheck) many(n int32, depth int, kinds ...thrift.Type) error {
	if c.left -= int(n); n < 0 || c.left < 0 {
		return fmt.Errorf("got lists of more than %d elements: %w", maxElements, errBroken)
	}
	for range n {
		for _, kind := range kinds {
			if err := c.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// pageHeader has what is checked of the header of a page.
type pageHeader struct {
	kind             format.PageType
	unpacked, packed int64
	values           int64
	encoding         format.Encoding
	crc              uint32 // of the packed bytes; 0 if there is none
	levels           int64  // bytes of levels before the values, not packed, of a page of version 2
	repetition       int64  // of them, bytes of levels of repetition
	plain            bool   // the values of a page of version 2 are not packed
}

// readPageHeader reads a header and returns its length.
func readPageHeader(b []byte) (h pageHeader, n int, err error) {
	if err := checkThrift(b); err != nil {
		return h, 0, err
	}
	r := (&thrift.CompactProtocol{}).NewReaderFromBytes(b)
	var header format.PageHeader
	if err := thrift.NewDecoder(r).Decode(&header); err != nil {
		return h, 0, fmt.Errorf("%w (%v)", errBroken, err)
	}
	h = pageHeader{kind: header.Type, unpacked: int64(header.UncompressedPageSize), packed: int64(header.CompressedPageSize), crc: uint32(header.CRC)}
	switch data, v2, dictionary := header.DataPageHeader, header.DataPageHeaderV2, header.DictionaryPageHeader; {
	case header.Type == format.DataPage && data.Valid:
		h.values, h.encoding = int64(data.V.NumValues), data.V.Encoding
	case header.Type == format.DictionaryPage && dictionary.Valid:
		h.values, h.encoding = int64(dictionary.V.NumValues), dictionary.V.Encoding
	case header.Type == format.DataPageV2 && v2.Valid:
		h.values, h.encoding = int64(v2.V.NumValues), v2.V.Encoding
		h.repetition = int64(v2.V.RepetitionLevelsByteLength)
		h.levels = int64(v2.V.DefinitionLevelsByteLength) + h.repetition
		h.plain = v2.V.IsCompressed.Valid && !v2.V.IsCompressed.V
	case header.Type != format.IndexPage:
		return h, 0, fmt.Errorf("got a page of kind %d without its header: %w", header.Type, errBroken)
	}
	return h, r.BytesRead(), nil
}

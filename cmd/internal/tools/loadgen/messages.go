package main

import (
	"encoding/binary"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Messages are encoded by hand, from URLInfos encoded once.

// appendPrefixed appends a gRPC prefix, and the message that write appends.
func appendPrefixed(dst []byte, write func([]byte) []byte) []byte {
	at := len(dst)
	dst = write(append(dst, 0, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-5))
	return dst
}

// appendItem appends a URLItem: discovered or, with known, completed. Its ID is
// n; with known there is none, and the URL is the ID.
func appendItem(dst, info []byte, known bool, n int) []byte {
	field := protowire.Number(1)
	if known {
		field = 2
	}
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(info))))
	dst = appendBytes(dst, 1, info)
	if known {
		return dst
	}
	var id [20]byte
	return appendBytes(dst, 3, strconv.AppendInt(id[:0], int64(n), 10))
}

// appendBatch appends a DiscoveredBatch without an ID.
func appendBatch(dst []byte, infos [][]byte) []byte {
	for _, info := range infos {
		dst = appendBytes(dst, 2, info)
	}
	return dst
}

func appendBytes[T string | []byte](dst []byte, field protowire.Number, b T) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// encodeInfo is a URLInfo.
func encodeInfo(url, key string) []byte {
	return appendBytes(appendBytes(nil, 1, url), 2, key)
}

// encodeParams is a GetParams.
func encodeParams(queues, perQueue uint32) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(perQueue))
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(queues))
}

// statusFail is AckMessage.FAIL.
const statusFail = 2

// countAck counts an AckMessage.
func (r *tally) countAck(msg []byte) {
	r.done++
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			r.failed++
			return
		}
		msg = msg[n:]
		if field == 2 && kind == protowire.VarintType && len(msg) > 0 && msg[0] == statusFail {
			r.failed++
		}
		if n = protowire.ConsumeFieldValue(field, kind, msg); n < 0 {
			r.failed++
			return
		}
		msg = msg[n:]
	}
}

// countBatch counts a BatchAck, whose statuses are packed.
func (r *tally) countBatch(msg []byte) {
	r.acks++
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 || kind != protowire.BytesType {
			r.failed++
			return
		}
		b, m := protowire.ConsumeBytes(msg[n:])
		if m < 0 {
			r.failed++
			return
		}
		if field == 2 {
			r.done += int64(len(b)) // one byte each
			for _, s := range b {
				if s == statusFail {
					r.failed++
				}
			}
		}
		msg = msg[n+m:]
	}
}

// tally counts the answers. The lock of its wire guards it.
type tally struct {
	done   int64 // URLs
	acks   int64 // batches
	failed int64
}

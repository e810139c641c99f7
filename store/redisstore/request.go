package redisstore

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// requestID names a step of this daemon, and with its last byte a phase of it. A
// shard gets one call of a phase at most.
type requestID [16]byte

// Phases of a step.
const (
	phaseRecord = iota // at the keys' home
	phaseQueue         // at the queue's home, of steps; it has receipts, see lua/receipts.lua
	phaseSettle        // at the queue's home, of what needs no step
	phases             // how many
)

// requests issues ids.
type requests struct {
	self [8]byte // random
	next atomic.Uint64
}

func newRequests() (*requests, error) {
	r := new(requests)
	if _, err := rand.Read(r.self[:]); err != nil {
		return nil, fmt.Errorf("cannot make request ids: %w", err)
	}
	return r, nil
}

// id returns the id of a new step.
func (r *requests) id() (id requestID) {
	copy(id[:], r.self[:])
	binary.BigEndian.PutUint64(id[8:], r.next.Add(1)<<8)
	return id
}

func (id requestID) phase(n byte) requestID {
	id[15] = n
	return id
}

// text is the id as scripts take it.
func (id requestID) text() string {
	if id == (requestID{}) {
		return ""
	}
	return string(id[:])
}

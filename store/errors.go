package store

import (
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/internal/fault"
)

// DamagedKeys is the error of a call that could not look up some of its keys, because the records of
// seen keys are damaged. The other keys have answers, and are recorded if the call records keys. It is
// an [ErrCorrupt].
type DamagedKeys struct {
	At  []int // indexes of the keys without an answer, ascending
	Err error // what is damaged
}

func (e *DamagedKeys) Error() string {
	return fmt.Sprintf("cannot look up %d keys: %v", len(e.At), e.Err)
}

func (e *DamagedKeys) Unwrap() error { return e.Err }

var (
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNotFound is returned for an unknown queue or crawl.
	ErrNotFound = errors.New("not found")
	// ErrIdentity is returned by Prepare, and by an import, for another profile,
	// version, key kind or Unicode version than the store was made with.
	ErrIdentity = errors.New("the store was made with another identity")
	// ErrFormat is returned for a store of another format, older or newer.
	ErrFormat = errors.New("the store has another format")
	// ErrLocked is returned by an open while another process, or this one, has the store.
	ErrLocked = errors.New("another process has the store open, or this one opened it before")
	// ErrFailed is returned by every call after the disk failed. Acknowledged steps are safe. A write that returned it
	// may have been carried out: repeat it after reopening the store; the answer may then be "duplicate".
	ErrFailed = errors.New("the store failed earlier: close it, and open it again")
	// ErrCorrupt is returned where stored bytes don't match their checksum or
	// format.
	ErrCorrupt = errors.New("the stored data is damaged")
	// ErrInvalid is returned for an argument that can't be stored, such as a
	// queue key that is too long.
	ErrInvalid = errors.New("the argument is invalid")
	// ErrNoTexts is an [ErrInvalid]: the call asks about completed or dropped URLs whose texts the store did
	// not keep.
	ErrNoTexts = fault.As(ErrInvalid, "the store has no texts of URLs that ended while it did not keep them (serve --keep-urls, KeepURLs), and so cannot list them or say when they were fetched")
	// ErrUnavailable is returned when a step can't be carried out, or not as
	// durably as promised, for now: servers don't answer, replicas are missing,
	// memory is full. The step may or may not have been carried out; it is safe
	// to repeat it.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrClock is returned by a Forget by [Selection.Age] while the store doubts its
	// clock. Nothing was forgotten.
	ErrClock = errors.New("the clock is in doubt")
)

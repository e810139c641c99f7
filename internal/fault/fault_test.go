package fault_test

import (
	"errors"
	"io"
	"testing"

	"github.com/firstseen/firstseen/internal/fault"
)

func TestAs(t *testing.T) {
	kind := errors.New("kind")
	err := fault.As(kind, "cannot read %s: %w", "a", io.ErrUnexpectedEOF)
	if got, want := err.Error(), "cannot read a: unexpected EOF"; got != want {
		t.Errorf("got text %q; want %q", got, want)
	}
	if !errors.Is(err, kind) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("errors.Is finds the kind or the wrapped error no longer")
	}
	if errors.Is(fault.As(kind, "cannot read"), io.ErrUnexpectedEOF) {
		t.Error("errors.Is finds an error that is not wrapped")
	}
}

package main

import (
	"context"
	"io"
)

// untilEOF returns a context that ends when r does: the write end of a pipe is closed by the
// system, however the process that holds it ends.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		_, _ = io.Copy(io.Discard, r) // any error is an end, too
	}()
	return ctx
}

// Package mmap maps files and memory. On systems without that, memory is of the Go heap, and files
// cannot be mapped.
package mmap

// Advice is how mapped bytes will be used. The system may ignore it.
type Advice int

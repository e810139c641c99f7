// Package mmap maps files and memory. On systems without that, memory is of the Go heap, and files
// cannot be mapped.
package mmap

// Advice is what the system is told about the use of mapped bytes. It may ignore it.
type Advice int

//go:build !linux

package mmap

const Cold, Huge Advice = -1, -1 // there are none

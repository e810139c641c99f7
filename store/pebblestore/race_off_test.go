//go:build !race

package pebblestore

const raced = false

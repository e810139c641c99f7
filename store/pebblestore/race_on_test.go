//go:build race

package pebblestore

// raced is whether the race detector is on, under which everything takes ten times as
// long: then tests of answers, as opposed to races, are made smaller.
const raced = true

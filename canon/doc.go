// Package canon writes URLs in a canonical form, so that two spellings of one URL
// become equal bytes and can share one key.
package canon

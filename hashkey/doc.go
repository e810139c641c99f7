// Package hashkey makes keys from canonical forms of URLs.
package hashkey

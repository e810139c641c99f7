// Package sxurl makes SXURLs, "sliceable" URL identifiers: 256 bits in which each part of a
// URL has a place of its own.
//
// A usual hash of a URL answers one question, whether two URLs are equal. An SXURL is a row of
// small hashes, so that a database can also ask for all URLs of a domain by comparing a
// slice of the key, without parsing or even having the URL. This is the encoding of release 0.2:
//
//	digits  bits  what
//	 0- 2     12  version 1 (4 bits), scheme (3), flags (5): subdomain, query, fragment, port, reserved
//	 3- 6     16  TLD, that is the public suffix: "com", "co.uk", "github.io"
//	 7-21     60  domain, the one label before it
//	22-29     32  subdomain, all labels before that; 0 if none
//	30-33     16  port, in clear
//	34-48     60  path
//	49-57     36  query; 0 if none
//	58-63     24  fragment; 0 if none
//
// Each slice is the end of SHA-256(label, 0, value), where the label names the part it
// is: tld, domain, sub, path, params or frag.
//
// # An index, not an identity
//
// The slices are short. URLs that differ only in the query share a key with even odds among
// 300,000 of them; subdomains of one domain at 77,000, fragments of one page at 4,800. So an
// SXURL must never decide that a URL was seen: that is the work of hashkey.UrlShortHash.
// Find by SXURL, then compare. For the same reason [Codec.Match] can say "yes" wrongly, but
// never "no".
//
// # Four encodings of one name
//
// The crate sxurl came out in releases, and keys do not record which one. [Release02] is what releases
// 0.1 and 0.2 compute and what the README describes, and so is the default. [Release11] is
// release 1.1: other widths, other labels, digests cut from the other end. Release
// 1.0 shares Release11's layout but not its labels, and the document SXURL-SPEC.md describes
// what no release ever computed; neither is here.
//
// Where the crate is plainly wrong we do it right, and each method documents the difference. The
// field Crate of [Codec] brings the crate's way back: names like "subdomain" that its README
// uses and its code refuses, two functions for the key of a host that disagree, ports
// guessed from the text, IP addresses split at their dots, file names of folders.
//
// # Speed
//
// A [Codec] has no state and may be shared. An [Encoder] remembers hosts and needs no memory
// while they repeat, as they do in crawls; each goroutine has its own.
package sxurl

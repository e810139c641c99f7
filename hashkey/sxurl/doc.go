// Package sxurl computes SXURLs: keys of 256 bits with a field for each part of a URL.
//
//	key, err := sxurl.Codec{}.Encode("https://docs.example.com/guide?lang=en")
//
// An ordinary hash answers one question: are two URLs equal? An SXURL consists of small
// hashes, one for each part. So a database can also find all URLs of a domain: it
// compares a slice of the key, and needs neither a parser nor the URL. The layout of
// release 0.2:
//
//	digits  bits  content
//	 0- 2     12  version 1 (4 bits), scheme (3), flags (5): subdomain, query, fragment, port, reserved
//	 3- 6     16  TLD, that is the public suffix: "com", "co.uk", "github.io"
//	 7-21     60  domain, the one label before it
//	22-29     32  subdomain, all labels before that; 0 if none
//	30-33     16  port, in clear
//	34-48     60  path
//	49-57     36  query; 0 if none
//	58-63     24  fragment; 0 if none
//
// In Release02 each hash is the last bits of SHA-256(label || 0x00 || value), where the label is tld,
// domain, sub, path, params or frag.
//
// # Use it as an index, not as an identity
//
// The hashes are short. Among 300,000 URLs that differ only in the query, two share a key
// with a probability of one half; so do two among 77,000 subdomains of a domain, and two among
// 4,800 fragments of a page. So an SXURL must never decide that a URL was seen: use
// hashkey.UrlShortHash for that. Find rows by SXURL, then compare the URLs. For the same
// reason a true result of [Codec.Match] can be wrong; a false one is always right.
//
// # Layouts
//
// The layout changed between releases of the crate sxurl, and a key does not record its layout.
// [Release02], the default, is that of releases 0.1 and 0.2 and of the crate's README.
// [Release11] is that of release 1.1, with other widths and labels. The layouts of release 1.0
// and of the document SXURL-SPEC.md, which no release computed, are not supported.
//
// Keys are those of the crate, bit for bit. Around them, each method documents where it corrects an error of the
// crate; the tests name the classes of these differences, and hold that there are no others.
//
// # Concurrency and memory
//
// A [Codec] has no state, and is safe for concurrent use. An [Encoder] keeps the hashes of
// 4,096 hosts in half a megabyte, and does not allocate while hosts repeat. Each goroutine
// needs its own.
package sxurl

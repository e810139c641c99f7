// Package hasheduri makes and matches hashed URIs, by draft-feather-hashed-uri-03: names like
//
//	hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481
//
// which identify a URI without revealing it. If you have a URI, you can check whether a name
// belongs to it. If you have only the name, you must guess the URI. So a [List] of names can
// exclude URLs from a crawl without publishing them, and two crawlers can compare their seen-sets.
//
// # What is hashed
//
// A name is the hash of a canonical form. There are three variants of this form. The name does not
// record which one was used, so both sides must agree on it:
//
//	None  lower-cases the scheme
//	N     also applies the normalizing steps of Appendix A: it lower-cases the host, drops the
//	      default port, decodes escaped letters, and removes "index.html" from http URIs
//	P     also applies steps that are safe on most servers: all in lower case, "//" becomes
//	      "/", ".html" becomes ".htm"
//
// Query and fragment are dropped by default. If you keep them, the name has a flag: +query or
// +frag.
//
// The forms differ from those of the URL Standard: "http://h" keeps its empty path, and "011" in
// an IPv4 address is eleven. A hashed URI never equals a hashkey.UrlHash.
//
// # Algorithms
//
// The draft registers md5 and sha1. Both are broken for signatures, but they still hide a URI if
// no attacker could choose it. x-sha256, a private name in the sense of the draft, is built in.
// [Algorithms] takes others.
//
// # Where the draft is unclear
//
// The draft has no reference implementation, and contradicts itself in places:
//
//   - The printed hash of "http://10.20.30.40/a%62c" is that of the decoded form, although its
//     steps do not decode it. We follow the example; the field Literal of [Hasher] follows the steps.
//   - Step 9 omits query and fragment. We append them where they were.
//   - In P, "/test/" becomes "/test", but "/test/index.html" becomes "/test/", as both printed
//     examples require. So P is not idempotent.
//   - Relative references need a base: make them absolute first, with canon.Base.
package hasheduri

// Package hasheduri makes and matches hashed URIs, by draft-feather-hashed-uri-03: names like
//
//	hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481
//
// that stand for a URI without showing it. A reader who has a URI can check whether it is the one;
// a reader who has only the name must guess. So a list of names can exclude URLs from a crawl
// without advertising them ([List]), and two crawlers can compare their seen-sets.
//
// # What is hashed
//
// Not the URI as it is found, but a canonical form, and how far to go is a choice that the name
// does not carry, so both sides must agree on it. [None] lower-cases the scheme. [N] applies
// the steps of Appendix A that are safe by the standards: host in lower case, default
// port dropped, escaped letters decoded, "index.html" removed from http. [P] also
// applies what holds on usual servers: all in lower case, "//" as "/", ".html" as ".htm".
// Query and fragment are dropped unless they are asked for, and then the name has
// a flag: +query, +frag. package canon has the forms.
//
// These forms are not those of the URL Standard: "http://h" keeps its empty path, and "011" in
// an IPv4 address is eleven. A hashed URI and a hashkey.UrlHash never agree.
//
// # Algorithms
//
// The draft registers md5 and sha1. Both are broken for signatures; for hiding a URI
// that nobody chose to attack they still do. x-sha256, a private name in the draft's
// sense, is built in. [Algorithms] takes others.
//
// # Points the draft leaves open
//
// It has no reference implementation, and contradicts itself in places. The printed example
// for "http://10.20.30.40/a%62c" is the hash of the decoded form, against its own step: it
// is followed, and the field Literal of [Hasher] brings the letter back. Step 9 forgets
// query and fragment: they go where they were. In P "/test/" becomes "/test" but
// "/test/index.html" becomes "/test/", as both printed examples want; so P is not
// idempotent. Relative references need a base and are resolved by RFC 3986, section 5.2.
package hasheduri

// Package declared reads what sites declare of their own duplicates: canonical links
// (RFC 6596), in the Link header (RFC 8288) or in HTML; the No-Vary-Search response header
// (draft-ietf-httpbis-no-vary-search); and Clean-param lines in robots.txt (as Yandex
// documents them). It reads what it is given, and opens no connection.
//
// A declaration is evidence, not a fact. Broken ones are common, and a canonical link to
// another site can be an attack, so do not skip a fetch because of one. What cannot be
// trusted in form is refused with an error that says why: several canonical links that
// disagree, a header that the draft calls invalid.
//
// [Of] reads all of a response. A crawler passes the result on with the outcome of the fetch:
//
//	page := declared.Of(url, response.Header, body)
//	settlement.Fetched = &frontier.Fetched{Status: 200, Digest: digest,
//		Canonical: page.Canonical,
//		NoVarySearch: page.NoVarySearch, CleanParam: page.CleanParam}
package declared

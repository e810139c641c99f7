// Package declared reads the declarations that sites make about their own duplicates:
//
//   - canonical links (RFC 6596), in the Link header (RFC 8288) or in HTML;
//   - the response header No-Vary-Search (draft-ietf-httpbis-no-vary-search);
//   - Clean-param lines in robots.txt (as Yandex documents them).
//
// It opens no connection: the caller passes the response.
//
// A declaration is evidence, not a fact. Wrong ones are common, and a canonical link to another
// site can be an attack. So do not skip a fetch because of a declaration. The package returns an
// error for an invalid declaration: several canonical links that disagree, or a header that the
// draft calls invalid.
//
// [Of] reads all declarations of a response. Report them with the result of the fetch:
//
//	page := declared.Of(url, response.Header, body)
//	settlement.Fetched = &frontier.Fetched{Status: 200, Digest: digest,
//		Canonical: page.Canonical,
//		NoVarySearch: page.NoVarySearch, CleanParam: page.CleanParam}
package declared

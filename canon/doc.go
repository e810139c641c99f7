// Package canon converts URLs to a canonical form, so that a crawler can recognize two URLs
// that lead to the same page.
//
//	form, err := canon.Qiita().Canonicalize("HTTP://Example.com:80/a/../b?y=2&x=1#top")
//	// form is "http://example.com/b?x=1&y=2"
//
// Compare the canonical forms, and fetch each URL as it was found: keep both.
//
// # Profiles and rules
//
// A [Profile] is a list of rules. [Qiita] is the default. Its rules come from two sources:
//
//   - RFC 3986 and the URL Standard: the case of scheme and host, escapes, default ports and
//     dot segments make no difference;
//   - an article on URL canonicalization on the site Qiita: the order of parameters and
//     duplicate slashes make no difference, "?a" equals "?a=", and the fragment is dropped.
//
// A rule that merges more URLs saves more fetches, but can lose more pages. The rules of
// RFC 3986 lose no page on a server that follows it. Other rules are optional, with the
// default that our measurements and the article support. [Profile.With] switches them for all sites, and a
// rule file ([WithRuleFile]) for a host and path. [RuleInfo] describes the risk of each rule.
// [Profile.Explain] lists the rules that changed a URL, [Profile.Compare] the rules that
// merge two URLs.
//
// The other profiles write the canonical forms of other tools. docs/RULES.md compares them.
//
// # What is promised
//
// Qiita keeps two laws, whatever optional rules are on:
//
//   - idempotence: a canonical form is its own canonical form;
//   - fixpoint: a parser of the URL Standard as of July 2026, in any language, maps a
//     canonical form to itself. Older parsers can refuse a host whose xn-- label is not valid
//     Punycode, such as http://xn--a/.
//
// So any program can compute the key of a canonical form, and computing it again changes
// nothing. Each other profile states which laws it keeps.
//
// A canonical form can change with [Profile.Version]. If the host has non-ASCII letters, it
// can also change with [Profile.UnicodeVersion]. So a store must keep both versions beside
// its keys; [Profile.HasUnicodeHost] reports whether the second one matters for a URL.
//
// # What it costs
//
// About nine in ten real URLs are canonical already. [Profile.AppendCanonical] checks for this
// in one pass (scan.go), and then only copies. Other plain URLs are rewritten into the caller's
// buffer without allocating (rewrite.go). The rest takes the slow path (work.go), which
// applies the rules of rule.go one by one, as Explain does. Fuzz tests hold the paths
// equal. All paths take nearly linear time, whatever the input.
package canon

// Package canon writes URLs in a canonical form, so that the many spellings of one URL
// become equal bytes and a crawler fetches it once.
//
// A [Profile] is a list of rules. [Qiita], the default, makes what two RFCs and the URL
// Standard call equivalent equal: case of scheme and host, escapes, default ports, dot
// segments; and what an article of that name adds: order of parameters, duplicate
// slashes, "?a" as "?a=", no fragment. It keeps two laws, whatever optional rules are on:
//
//   - idempotence: a canonical form is its own canonical form;
//   - fixpoint: a parser of the URL Standard as of July 2026, in any language, maps a
//     canonical form to itself. An older one can refuse a host with xn-- labels that
//     encode nothing.
//
// So a key can be computed anywhere from a canonical form, and never drifts by being
// computed twice. Other profiles write the forms of other tools, for their users;
// each states which law it keeps.
//
// # The trade-off
//
// A rule that merges more saves more fetches and loses more pages. The rules of RFC 3986
// lose none on a correct server. Of the others the preset has those that measurements and
// the article speak for, and leaves the rest to be switched on, for all sites or, from a
// rule file ([WithRuleFile]), by host and path. [RuleInfo] describes the risk of each rule,
// [Profile.Explain] lists the rules that changed a URL, [Profile.Compare] those that merge two.
// Fetch the URL as it was found, and compare canonical forms: keep both.
//
// # How it works
//
// Nine in ten real URLs are canonical already. [Profile.AppendCanonical] therefore checks
// first, in one pass over the bytes (scan.go), and copies only; what needs little is
// rewritten into the caller's buffer (rewrite.go) without allocating. Everything unusual
// takes the slow path (work.go), which runs the rules of the table (ruletable.go) one by
// one on the parts of the URL, as Explain does. Fuzzing holds the two equal. Both take
// time near-linear in the length of the input, whatever the bytes.
//
// # Versions
//
// A form can change with the profile's [Profile.Version], and the host of a URL with
// non-ASCII letters with [Profile.UnicodeVersion]: a store that keeps keys has to keep both
// beside them, and can ask [HasUnicodeHost] whether the second one matters.
package canon

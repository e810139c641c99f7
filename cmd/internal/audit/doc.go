// Package audit judges canonicalization rules by content.
//
// A rule is a bet that two spellings are one page. Where a crawl log has
// digests, the bet can be checked: of the pairs of URLs a rule merges, how many
// had the same content?
//
// The naive answer is wrong on every dynamic site, because there the same URL
// fetched twice has two digests as well. So each pair is judged beside a
// control: how often did fetching one URL again, in the same directory and with
// the same parameter names, give the same digest? Only pairs whose control is
// stable count towards a verdict, and what the control itself lost is put back.
// However many pairs of a host have the same contents, they count as one, because
// soft 404s and login pages make many URLs of one content. With fewer than
// [MinStable] such contents a rule has no verdict.
//
// The method and its terms follow the literature: Schonfeld, Bar-Yossef and
// Keidar (DUST, WWW 2006; TWEB 2009), Lee, Kim and Hong (ICCSA 2005: page loss,
// gain and change), Dasgupta, Kumar and Sasturkar (KDD 2008), Koppula et al.
// (WSDM 2010).
package audit

// Package audit judges canonicalization rules by the contents in crawl logs.
//
// A rule assumes that two URLs lead to the same page. If a crawl log has digests, this can be
// checked: of the pairs of URLs that a rule merges, how many had the same content? Add
// captures to a [Log]; [Run] judges rules, and [Learn] proposes rules.
//
// Comparing digests alone is not enough. On a dynamic site, two fetches of the same URL also have
// two digests. So each pair has a control: how often did fetching a URL of the same directory,
// with the same parameter names, return the same digest again? A verdict is based on pairs
// with a stable control and on redirects between two URLs, and is corrected for the changes that
// the control shows. A page that was not found under one URL, and was there under the other within a day, is different for sure. Pairs of a host with the same contents count once, because soft 404s and login pages
// make one content of many URLs. With fewer than [MinStable] such contents a rule has no verdict.
//
// docs/AUDIT.md explains the method and its limits. Memory grows with the log: the text of each
// distinct URL and digest, 16 bytes for each capture, and about 120 bytes for each URL.
//
// The method and its terms are from the literature: Schonfeld, Bar-Yossef and
// Keidar (DUST, WWW 2006; TWEB 2009), Lee, Kim and Hong (ICCSA 2005: page loss,
// gain and change), Dasgupta, Kumar and Sasturkar (KDD 2008), Koppula et al.
// (WSDM 2010).
package audit

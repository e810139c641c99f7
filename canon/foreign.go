package canon

import (
	"github.com/firstseen/firstseen/canon/internal/foreign"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/hashedform"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// The profiles that write what other programs and documents do. Their rules can't be switched: each is one
// rule that has the name of the profile, but for purell, which has one for each flag.

// fixed returns a profile of one rule.
func fixed(version int, info RuleInfo, form func(raw string) (string, error)) *Profile {
	info.Default = true
	return &Profile{name: string(info.Rule), version: version, rules: []RuleInfo{info}, form: form}
}

// None takes any bytes as they are: the key of a URL is then that of its exact bytes.
// It never fails, and it does not look whether its input is a URL.
//
// Laws: idempotence. No WHATWG fixpoint.
func None() *Profile {
	return fixed(1, RuleInfo{Rule: "none", Does: "nothing", Source: "the raw string"}, func(raw string) (string, error) { return raw, nil })
}

// WHATWG is the serialization of the URL Standard as of July 2026, of any scheme, with the
// fragment. It is the canonical form of the url-hash crate, except for two changes of the
// standard since the crate's release: "^" is escaped in a path, and an ASCII host is accepted
// whatever its xn-- labels encode.
//
// Laws: idempotent, and by definition a WHATWG fixpoint. Query order, escapes and
// duplicate slashes stay as they are found, so it merges far less than [Qiita] does.
func WHATWG() *Profile { return &Profile{name: "whatwg", version: 2, form: whatwgForm} }

func whatwgForm(raw string) (string, error) {
	if len(raw) > DefaultMaxLength {
		return "", fault.As(ErrTooLong, "cannot canonicalize; got a URL of %d bytes; want at most %d", len(raw), DefaultMaxLength)
	}
	if _, ok := whatwg.ParsePlain(raw); ok {
		return raw, nil
	}
	parts, err := whatwg.Parse(raw)
	if err != nil {
		return "", err
	}
	return parts.Join(), nil
}

// HashedN is variant N of Appendix A of draft-feather-hashed-uri-03: the text that is hashed,
// without query and fragment. An input without a scheme is refused with [ErrURL].
//
// Laws: idempotent for URIs as RFC 2396 writes them that have a host and no stray "%".
// No WHATWG fixpoint: an empty path stays empty, and dot segments stay.
func HashedN() *Profile {
	return fixed(1, RuleInfo{
		Rule: "hashed-n", Does: "applies Appendix A, variant N, and drops query and fragment", Source: "draft-feather-hashed-uri-03",
		Risk: "pages that differ in the query meet",
	}, hashed(hashedform.N))
}

// HashedP is variant P of Appendix A of draft-feather-hashed-uri-03, as [HashedN] but
// with case, empty path segments and usual file name endings folded. It merges pages
// that differ in case alone.
//
// Laws: neither. "/test/index.html" becomes "/test/", and that becomes "/test".
func HashedP() *Profile {
	return fixed(1, RuleInfo{
		Rule: "hashed-p", Does: "applies Appendix A, variant P, and drops query and fragment", Source: "draft-feather-hashed-uri-03",
		Risk: "pages that differ in the query or in case meet",
	}, hashed(hashedform.P))
}

func hashed(v hashedform.Variant) func(raw string) (string, error) {
	return func(raw string) (string, error) {
		form, _, err := hashedform.Append(nil, []byte(raw), hashedform.Options{Variant: v})
		return string(form), err
	}
}

// C14N writes URLs as python-url-c14n 0.1.0 does on CPython 3.11.7 under POSIX, faults
// and all, for a crawler whose keys were made by it. It differs from [Qiita], which fixes
// these: the userinfo is lower-cased, "%aF" stays, "/a/b/.." becomes "/a", "?&" becomes
// "?=&=", a port that is not a number or has leading zeros stays, characters that should be
// escaped are not, and the fragment stays. Any scheme, and none, is accepted; "http:a" becomes
// "http:///a".
//
// The error is [ErrURL] where Python's urlsplit raises one: unpaired brackets, brackets around
// something that is not an IPv6 address, a host in which NFKC normalization produces one of
// "/?#@:".
// Bytes that are not UTF-8, which Python strings cannot hold, stay as they are.
//
// Laws: neither. "%%36%31" becomes "%61", and that becomes "a".
func C14N() *Profile {
	return fixed(1, RuleInfo{
		Rule: "c14n", Does: "writes URLs as python-url-c14n does", Source: "python-url-c14n 0.1.0",
		Risk: "pages that differ in the case of the user, or in a trailing slash after dots, meet",
	}, foreign.C14N)
}

// Scrapy writes URLs as w3lib.url.canonicalize_url 2.5.0 does with its defaults, on
// CPython 3.11.7, given the URL as bytes of UTF-8: the form behind the request
// fingerprints of Scrapy. Older releases of w3lib differ, mainly where a query has ";".
// Parameters are sorted decoded and encoded again, the fragment is removed, the default port
// stays; any scheme, or none, is accepted. A host is mapped by IDNA 2003.
//
// The error is [ErrURL] where w3lib raises one: a port that is not a number up to 65535, brackets
// around something that is not an IPv6 address, a host in which NFKC normalization produces a
// separator.
//
// Laws: neither. In a path, "%2%41" becomes "%2A", and that becomes "*".
func Scrapy() *Profile {
	return fixed(1, RuleInfo{
		Rule: "scrapy", Does: "writes URLs as w3lib's canonicalize_url does", Source: "w3lib 2.5.0",
		Risk: "pages built from the fragment meet",
	}, foreign.Scrapy)
}

// SafeBrowsing writes URLs as Google's Safe Browsing and Web Risk do before they hash
// them ("URLs and Hashing", of the v4 API, with the IPv6 step of v5). The fragment is removed.
// Then the escapes of the whole URL are decoded until none is left, the URL is split into its
// parts, and characters that need it are escaped once. Userinfo and port are removed; the query
// stays as it is, also an empty one.
//
// Where the text is silent: a URL without "://" gets "http://"; a host with UTF-8 in it is
// mapped by UTS #46 and, if that fails, escaped like any text; an address out of range is
// a name. A URL without a host is refused with [ErrURL], one like "mailto:a" with [ErrScheme].
//
// Laws: idempotence. No WHATWG fixpoint: "%23" in a host stays.
func SafeBrowsing() *Profile {
	return fixed(1, RuleInfo{
		Rule: "safebrowsing", Does: "writes URLs as Safe Browsing hashes them", Source: "developers.google.com/safe-browsing, URLs and Hashing",
		Risk: "pages that differ in port, user, or in how often something is escaped, meet",
	}, foreign.SafeBrowsing)
}

// SURT writes the sort-friendly key of a URL as web archives put it in CDX files: what
// surt.surt(url) of the PyPI package surt 0.3.1 returns with its defaults, on CPython
// 3.11.7, given the URL as bytes: "com,example)/path?query". Host reversed; scheme,
// userinfo, "www.", default port and fragment gone; path and query in lower case without
// session ids; parameters sorted; escapes decoded until none is left and then written
// once. It merges more than every profile except hashed-n and hashed-p. It is for sorting and
// range look-ups.
//
// A URL without an authority keeps its scheme ("mailto:a@b"), an empty one is "-", and
// whatever begins with "filedesc" stays. The error is [ErrURL] where surt fails: for a
// port that is no number up to 65535, and for blanks alone.
//
// Laws: neither. A SURT is no URL; SURT of a SURT is something else.
func SURT() *Profile {
	return fixed(1, RuleInfo{
		Rule: "surt", Does: "writes the key of CDX files", Source: "surt 0.3.1; webarchive-commons IAURLCanonicalizer",
		Risk: "pages that differ in case, scheme, www., session id, a trailing slash or a slash escaped in the path, meet",
	}, foreign.SURT)
}

// Purell writes URLs exactly as purell.NormalizeURLString does with some flags, named as in
// "safe,remove-fragment" or by purell's own names: use it to migrate
// a crawler whose keys were computed with purell. It has purell's faults: it decodes %2F in paths,
// and with sort-query it loses parameters that contain a ";" or a stray "%".
// Where purell fails, the error wraps [ErrURL].
//
// One departure: a host of more than 2,000 bytes is refused with [ErrTooLong],
// because purell takes quadratic time to encode it.
//
// Laws: neither, whatever the flags.
func Purell(flags string) (*Profile, error) {
	tool, err := foreign.ParsePurell(flags)
	if err != nil {
		return nil, err
	}
	p := &Profile{name: "purell", version: 1, spec: tool.String(), form: tool.Form, purell: tool.Steps()}
	for i, s := range p.purell {
		info := RuleInfo{Rule: Rule(s.Name), Does: s.Does, Source: "purell", Default: true}
		if i == 0 {
			info.Source, info.Risk = "purell.NormalizeURLString", "decodes %2F and other reserved characters of the path"
		}
		p.rules = append(p.rules, info)
	}
	return p, nil
}

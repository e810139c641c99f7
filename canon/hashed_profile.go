package canon

// HashedN is variant N of Appendix A of draft-feather-hashed-uri-03: what [AppendHashed]
// writes with HashedVariantN, without query and fragment. An input without a scheme
// is refused with [ErrURL].
//
// Laws: idempotent for URIs as RFC 2396 writes them that have a host and no stray "%".
// No WHATWG fixpoint: an empty path stays empty, and dot segments stay.
func HashedN() *Profile {
	return hashedProfile(HashedVariantN, RuleInfo{
		Rule: "hashed-n", Does: "applies Appendix A, variant N, and drops query and fragment", Source: "draft-feather-hashed-uri-03",
		Risk: "pages that differ in the query meet",
	})
}

// HashedP is variant P of Appendix A of draft-feather-hashed-uri-03, as [HashedN] but
// with case, empty path segments and usual file name endings folded. It merges pages
// that differ in case alone.
//
// Laws: neither. "/test/index.html" becomes "/test/", and that becomes "/test".
func HashedP() *Profile {
	return hashedProfile(HashedVariantP, RuleInfo{
		Rule: "hashed-p", Does: "applies Appendix A, variant P, and drops query and fragment", Source: "draft-feather-hashed-uri-03",
		Risk: "pages that differ in the query or in case meet",
	})
}

func hashedProfile(v HashedVariant, info RuleInfo) *Profile {
	return fixed(info, func(dst, raw []byte) ([]byte, error) {
		dst, _, err := AppendHashed(dst, raw, HashedOptions{Variant: v})
		return dst, err
	})
}

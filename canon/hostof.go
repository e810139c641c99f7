package canon

import "bytes"

// Host gives host[:port] of a canonical http, https or ftp URL, without userinfo: a part
// of canonical, not a copy. It is nil for anything else, such as the forms of profiles
// that are no URLs.
func Host(canonical []byte) []byte {
	for _, scheme := range []string{"http://", "https://", "ftp://"} {
		rest, ok := bytes.CutPrefix(canonical, []byte(scheme))
		if !ok {
			continue
		}
		if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		rest = rest[bytes.LastIndexByte(rest, '@')+1:]
		if len(rest) == 0 {
			return nil
		}
		return rest
	}
	return nil
}

// HasUnicodeHost tells whether a canonical URL has a host with an xn-- label: its form,
// and so its key, depends on the Unicode version; see [UnicodeVersion].
func HasUnicodeHost(canonical []byte) bool { return hasUnicodeLabel(Host(canonical)) }

package hashkey

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

var whatwg = canon.WHATWG()

// SumURL parses a URL of any scheme by the URL Standard, and returns the hash of its
// canonical form, fragment included, as the document of the url-hash crate describes it.
// If the URL cannot be parsed, the error wraps canon.ErrURL or canon.ErrTooLong.
//
// For the seen-set of a crawler use canon.Qiita and [SumShort] instead: they recognize more
// variants of a URL as the same page.
func SumURL(url string) (UrlHash, error) {
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return UrlHash{}, fmt.Errorf("cannot hash URL: %w", err)
	}
	return SumString(canonical), nil
}

// SumURLCrate is [SumURL] with [UrlHashCrate]: what release 0.1.0 of the crate returns.
func SumURLCrate(url string) (UrlHash, error) {
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return UrlHash{}, fmt.Errorf("cannot hash URL: %w", err)
	}
	return UrlHashCrate(zerocopy.Bytes(canonical)), nil
}

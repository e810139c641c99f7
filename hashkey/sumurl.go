package hashkey

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/internal/plain"
)

var whatwg = canon.WHATWG()

// SumURL parses a URL by the URL Standard, of any scheme, and returns the hash of its
// canonical form, fragment included: what the document of the url-hash crate describes.
// The error of a URL that cannot be parsed wraps canon.ErrURL or canon.ErrTooLong.
//
// A crawler's seen-set wants canon.Qiita and [SumShort] instead, which distinguish fewer
// spellings apart.
func SumURL(url string) (UrlHash, error) {
	canonical, err := parseURL(url)
	if err != nil {
		return UrlHash{}, err
	}
	return SumString(canonical), nil
}

// SumURLCrate is [SumURL] with [UrlHashCrate]: what release 0.1.0 of the crate returns.
func SumURLCrate(url string) (UrlHash, error) {
	canonical, err := parseURL(url)
	if err != nil {
		return UrlHash{}, err
	}
	return UrlHashCrate(bytesOf(canonical)), nil
}

func parseURL(url string) (string, error) {
	if _, ok := plain.Parse(url); ok {
		return url, nil
	}
	canonical, err := whatwg.Canonicalize(url)
	if err != nil {
		return "", fmt.Errorf("cannot hash URL: %w", err)
	}
	return canonical, nil
}

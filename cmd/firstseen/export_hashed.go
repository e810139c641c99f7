package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
	"github.com/firstseen/firstseen/store"
)

// exportHashFlags are the flags for hashed URIs.
type exportHashFlags struct{ algorithm, variant string }

func (h *exportHashFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&h.algorithm, "algorithm", "sha1", "hash of --hashed-uri: md5, sha1 or x-sha256")
	flags.StringVar(&h.variant, "variant", "N", "canonical form of --hashed-uri: none, N or P; serve asks by N")
}

// hashWriter returns a function that writes hashed URIs.
func (f *exportFlags) hashWriter(ctx context.Context, src *crawlSource) (func(io.Writer) (int64, error), error) {
	variant, err := hashedVariant(f.hash.variant)
	if err != nil {
		return nil, err
	}
	h := hasheduri.Hasher{Algorithm: f.hash.algorithm, Variant: variant, KeepQuery: true}
	if _, err := h.Sum("http://a.example/"); err != nil {
		return nil, misuse{err}
	}
	p, err := canon.ParseRecorded(src.crawl.Identity.Profile)
	if err != nil {
		return nil, fmt.Errorf("cannot hash URLs of profile %q: %w", src.crawl.Identity.Profile, err)
	}
	return func(w io.Writer) (int64, error) { return f.writeHashed(ctx, w, src, p, &h) }, nil
}

// writeHashed writes two hashes of each URL: that of the canonical form, which a daemon looks
// up, and that of the URL as found, for programs that do not canonicalize. The two are nearly
// always equal.
func (f *exportFlags) writeHashed(ctx context.Context, w io.Writer, src *crawlSource, p *canon.Profile, h *hasheduri.Hasher) (int64, error) {
	var lines []string
	n := int64(0)
	for e, err := range src.entries(ctx) {
		if err != nil {
			return 0, err
		}
		if f.done && e.State != store.Done {
			continue
		}
		before := len(lines)
		forms := []string{e.URL}
		if canonical, err := p.Canonicalize(e.URL); err == nil && canonical != e.URL {
			forms = append(forms, canonical)
		}
		for _, form := range forms {
			if u, err := h.Sum(form); err == nil {
				// Flagged though it have none: an entry without the flag hides its path
				// with any query.
				u.Query = true
				lines = append(lines, u.String())
			}
		}
		if len(lines) > before {
			n++
		}
	}
	if n == 0 {
		fmt.Fprintln(f.warn, noTexts)
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return n, err
		}
	}
	return n, nil
}

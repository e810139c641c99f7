package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
	"github.com/firstseen/firstseen/hashkey/sxurl"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/store"
)

// exportFlags are the flags of the export command.
type exportFlags struct {
	place                     place
	output                    string
	urls, sxurl, hashed, done bool
	keys                      sxurlFlags
	algorithm                 string
	variant                   hasheduri.Variant
	warn                      io.Writer
}

// noTexts is said where a list of URLs comes out empty.
const noTexts = "firstseen: no text of a URL is kept here: serve keeps it by default, import with --keep-urls"

func newExportCmd(a *app) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "Write what a crawl has seen",
		Long: `Write the keys of a crawl as a key file: sorted, with a header and a checksum, for
"firstseen import" in any crawl with the same profile, on disk or in Redis. It reveals
no URL. For a whole crawl with its queues, use "firstseen copy". If there is nothing to
write, a file that is not empty stays as it is.

--urls, --sxurl and --hashed-uri write lines of text instead, for the URLs whose text is
kept: queued and leased URLs, and completed ones if the store keeps URLs. --sxurl writes the
SXURL and a tab before each URL, so that a database can find URLs by parts of it.
--hashed-uri writes a sorted list of hashes for "firstseen serve --exclude-hashed". The list
reveals neither the URLs nor their order, but anyone can test whether a given URL is in it.`,
		Example: `  firstseen export --db crawl.db -o crawl.keys
  firstseen export --db crawl.db --hashed-uri -o seen.hashed
  firstseen export --db crawl.db --sxurl | sort >index.tsv`,
		Args: noArgs,
	}
	f.place.add(cmd.Flags())
	cmd.RunE = running(func(cmd *cobra.Command, _ []string) (err error) {
		if err := f.check(); err != nil {
			return err
		}
		src, err := f.place.source(cmd.Context(), a, !f.urls && !f.sxurl && !f.hashed)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, src.close()) }()
		return f.run(cmd.Context(), a, src)
	})
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", `file to write, "-" for stdout`)
	cmd.Flags().BoolVar(&f.urls, "urls", false, "write the URLs whose text is kept, one a line")
	cmd.Flags().BoolVar(&f.sxurl, "sxurl", false, "write URLs with their SXURLs")
	cmd.Flags().BoolVar(&f.hashed, "hashed-uri", false, "write hashed URIs of those URLs, sorted")
	cmd.Flags().BoolVar(&f.done, "completed", false, "with --urls, --sxurl or --hashed-uri: only completed URLs")
	f.keys.add(cmd.Flags())
	cmd.Flags().StringVar(&f.algorithm, "algorithm", "sha1", "hash of --hashed-uri: md5, sha1 or x-sha256")
	addVariant(cmd.Flags(), &f.variant, "N", "canonical form of --hashed-uri: none, N or P; serve asks by N")
	cmd.MarkFlagsMutuallyExclusive("urls", "sxurl", "hashed-uri")
	return cmd
}

// check refuses flags that don't fit together.
func (f *exportFlags) check() error {
	if f.place.crawl == "*" {
		return misusef("cannot export; got crawl %q; want one crawl", f.place.crawl)
	}
	if f.done && !f.urls && !f.sxurl && !f.hashed {
		return misusef("cannot export; got --completed alone; want --urls, --sxurl or --hashed-uri with it: keys have no state")
	}
	return nil
}

func (f *exportFlags) run(ctx context.Context, a *app, src *crawlSource) error {
	f.warn = a.err
	var err error
	write := func(w io.Writer) (int64, error) { return src.keys(ctx, w) }
	if f.hashed {
		if write, err = f.hashWriter(ctx, src); err != nil {
			return err
		}
	}
	if f.urls || f.sxurl {
		write = func(w io.Writer) (int64, error) { return f.writeURLs(ctx, w, src) }
	}
	n, err := a.writeOut(f.output, write)
	if err != nil {
		return fmt.Errorf("cannot export: %w", err)
	}
	fmt.Fprintf(a.err, "%s exported\n", grouped(n))
	return nil
}

// writeOut has write fill a file, which is there whole or not at all, or stdout.
func (a *app) writeOut(name string, write func(io.Writer) (int64, error)) (n int64, err error) {
	buffered := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		n, err = write(b)
		return errors.Join(err, b.Flush())
	}
	if name == "-" {
		return n, buffered(a.out)
	}
	file, err := durable.Create(name)
	if err != nil {
		return 0, err
	}
	defer file.Drop()
	err = file.Write(func(w io.Writer) error {
		err := buffered(w)
		if err == nil && n == 0 && file.Replaces() {
			err = errors.New("there is nothing to write; the output file has contents and was not overwritten: remove it to get an empty file")
		}
		return err
	})
	return n, err
}

// texts hands the URLs whose text is kept to write, which returns whether it took one, and returns how many it took.
func (f *exportFlags) texts(ctx context.Context, src *crawlSource, write func(url string) (bool, error)) (n int64, err error) {
	for e, err := range src.entries(ctx) {
		took := false
		if err == nil && (!f.done || e.State == store.Done) {
			took, err = write(e.URL)
		}
		if err != nil {
			return n, err
		}
		if took {
			n++
		}
	}
	if n == 0 {
		fmt.Fprintln(f.warn, noTexts)
	}
	return n, nil
}

// writeURLs writes a line for each URL. One that has no SXURL, such as of an IP
// address, is left out of that list.
func (f *exportFlags) writeURLs(ctx context.Context, w io.Writer, src *crawlSource) (int64, error) {
	encoder := sxurl.NewEncoder(f.keys.codec())
	var line []byte
	return f.texts(ctx, src, func(url string) (bool, error) {
		line = line[:0]
		if f.sxurl {
			key, err := encoder.Encode(url)
			if err != nil {
				return false, nil
			}
			line = fmt.Appendf(line, "%s\t", key)
		}
		line = append(append(line, whatwg.Line(url)...), '\n')
		_, err := w.Write(line)
		return true, err
	})
}

// hashWriter returns a function that writes hashed URIs.
func (f *exportFlags) hashWriter(ctx context.Context, src *crawlSource) (func(io.Writer) (int64, error), error) {
	h := hasheduri.Hasher{Algorithm: f.algorithm, Variant: f.variant, KeepQuery: true}
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
	n, err := f.texts(ctx, src, func(url string) (bool, error) {
		before := len(lines)
		forms := []string{url}
		if canonical, err := p.Canonicalize(url); err == nil && canonical != url {
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
		return len(lines) > before, nil
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return n, err
		}
	}
	return n, nil
}

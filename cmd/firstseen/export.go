package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/hashkey/sxurl"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// exportFlags say what to export.
type exportFlags struct {
	crawl, output string
	urls, sxurl   bool
	keys          sxurlFlags
}

func newExportCmd(a *app) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --db DIR",
		Short: "Write what a crawl has seen",
		Long: `Write the keys of a crawl as a key file: sorted, with a header and a checksum, for
"firstseen import" in any store with the same profile. It reveals no URL.

--urls and --sxurl write lines of text instead, for the URLs whose text is kept: those
that wait or are leased, and the completed ones if the store keeps URLs. --sxurl puts the
SXURL and a tab before each, so that a database can find URLs by its slices.`,
		Example: `  firstseen export --db crawl.db -o crawl.keys
  firstseen export --db crawl.db --sxurl | sort >index.tsv`,
		Args: cobra.NoArgs,
	}
	withStore(cmd, &pebblestore.Options{ReadOnly: true}, &f.crawl, func(ctx context.Context, s *pebblestore.Store, _ []string) error {
		return f.run(ctx, a, s)
	})
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", `file to write, "-" for stdout`)
	cmd.Flags().BoolVar(&f.urls, "urls", false, "write the URLs whose text is kept, one a line")
	cmd.Flags().BoolVar(&f.sxurl, "sxurl", false, "write those URLs with their SXURLs")
	f.keys.add(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("urls", "sxurl")
	return cmd
}

func (f *exportFlags) run(ctx context.Context, a *app, s *pebblestore.Store) error {
	codec, err := f.keys.codec()
	if err != nil {
		return err
	}
	write := func(w io.Writer) (int64, error) { return s.Export(ctx, w, f.crawl) }
	if f.urls || f.sxurl {
		write = func(w io.Writer) (int64, error) { return f.writeURLs(ctx, w, s, codec) }
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
	file, err := newOutFile(name)
	if err != nil {
		return 0, err
	}
	defer file.drop()
	err = file.write(buffered)
	return n, err
}

// writeURLs writes a line for each URL. One that has no SXURL, such as of an IP
// address, is left out of that list.
func (f *exportFlags) writeURLs(ctx context.Context, w io.Writer, s *pebblestore.Store, codec sxurl.Codec) (n int64, err error) {
	encoder := sxurl.NewEncoder(codec)
	var line []byte
	for e, err := range s.Entries(ctx, f.crawl, "") {
		if err != nil {
			return n, err
		}
		line = line[:0]
		if f.sxurl {
			key, err := encoder.Encode(e.URL)
			if err != nil {
				continue
			}
			line = fmt.Appendf(line, "%s\t", key)
		}
		line = append(append(line, e.URL...), '\n')
		if _, err := w.Write(line); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func newImportCmd(a *app) *cobra.Command {
	var crawl, dir string
	var profile profileFlags
	cmd := &cobra.Command{
		Use:   "import --db DIR FILE…",
		Short: "Record the keys of key files as seen",
		Long: `Record the keys that "firstseen export" wrote, so that a crawl skips what another one has
seen. A file made with another profile is refused. The store is made if need be. To take
an earlier crawl's logs as seen, use "firstseen replay --db".`,
		Example: `  firstseen import --db new.db crawl.keys`,
		Args:    cobra.MinimumNArgs(1),
		RunE: running(func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return misusef("cannot import; got no --db; want the store's directory")
			}
			p, err := profile.open()
			if err != nil {
				return err
			}
			s, err := openWorkspace(dir, p)
			if err != nil {
				return err
			}
			return errors.Join(importFiles(cmd.Context(), a, s.Store.(*pebblestore.Store), crawl, args), s.Close())
		}),
	}
	cmd.Flags().StringVar(&dir, "db", "", "directory of the store; made if need be")
	cmd.Flags().StringVar(&crawl, "crawl", "DEFAULT", "crawl to import into")
	profile.add(cmd.Flags())
	return cmd
}

func importFiles(ctx context.Context, a *app, s *pebblestore.Store, crawl string, names []string) error {
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("cannot open key file: %w", err)
		}
		read, fresh, err := s.Import(ctx, bufio.NewReaderSize(file, 1<<20), crawl)
		_ = file.Close() // it was only read
		if err != nil {
			return fmt.Errorf("cannot import %s; %s keys were read, %s of them new: %w", name, grouped(read), grouped(fresh), err)
		}
		if _, err := fmt.Fprintf(a.out, "%s: %s keys, %s of them new\n", name, grouped(read), grouped(fresh)); err != nil {
			return fmt.Errorf("cannot write output: %w", err)
		}
	}
	return nil
}

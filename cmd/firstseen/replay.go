package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/store"
)

// replayFlags are the flags of the replay command.
type replayFlags struct {
	profile    profileFlags
	db, crawl  string
	json, keys bool
	hosts      int
	memory     int64
}

func newReplayCmd(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Measure the duplicates in lists of URLs",
		Long: `Read lists of URLs, one a line, plain, gzip or zstd, "-" for stdin, and tell how many
were exact duplicates, how many more are one URL in canonical form, and how many are
unique. What was seen is kept in --db for the next run, or else in a temporary
directory that is removed afterwards.

Ctrl-C stops reading and tells what was found until then.`,
		Example: `  firstseen replay urls.txt.zst
  firstseen replay --db seen --json monday.txt.gz tuesday.txt.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	f.profile.add(cmd.Flags())
	cmd.Flags().StringVar(&f.db, "db", "", "directory of the seen-set; made if need be; default: a temporary one")
	cmd.Flags().StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl in the seen-set that the URLs belong to")
	cmd.Flags().BoolVar(&f.json, "json", false, "write one JSON object")
	cmd.Flags().BoolVar(&f.keys, "keys-sha256", false, "tell the SHA-256 of the crawl's keys, 16 bytes each, sorted and joined")
	cmd.Flags().IntVar(&f.hosts, "hosts", 10, "how many hosts to list, those with most duplicates first")
	cmd.Flags().Int64Var(&f.memory, "exact-memory", 512, "MiB for telling exact duplicates; beyond it hashes go to temporary files")
	return cmd
}

func (f *replayFlags) run(ctx context.Context, a *app, names []string) (err error) {
	if f.hosts < 0 || f.memory <= 0 {
		return misusef("cannot replay; got --hosts %d, --exact-memory %d; want no less than 0 and 1", f.hosts, f.memory)
	}
	p, err := f.profile.open()
	if err != nil {
		return err
	}
	w, err := openWorkspace(f.db, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	files := &fileSet{stdin: a.in}
	defer files.close()
	counters := &replay.Counters{}
	shown := showProgress(a.err, files, counters)
	result, err := replay.Run(ctx, files.inputs(names), replay.Options{
		Profile: p, Store: w, Crawl: f.crawl, ExactBudget: f.memory << 20, Counters: counters,
	})
	shown.stop()
	if result == nil {
		return err
	}
	return errors.Join(err, f.tell(ctx, a, result, w))
}

// tell writes the result. What couldn't be read is on stderr and in the status.
func (f *replayFlags) tell(ctx context.Context, a *app, r *replay.Result, s store.Store) error {
	sum := ""
	if f.keys {
		var err error
		if sum, err = keysSHA256(context.WithoutCancel(ctx), s, f.crawl); err != nil {
			return err
		}
	}
	out := newOutput(a.out)
	report := newReplayReport(r, f.hosts, sum)
	if f.json {
		out.json(report)
	} else {
		report.write(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write output: %w", err)
	}
	return inputErrors(a, r)
}

// inputErrors tells what couldn't be read, and gives the error that the exit status
// is made of: an input of the wrong kind was refused, any other is a failure.
func inputErrors(a *app, r *replay.Result) error {
	var failed []error
	refused := r.Refused > 0
	for _, e := range r.Errors {
		if errors.Is(e, input.ErrBinary) {
			refused = true
			fmt.Fprintf(a.err, "firstseen: %v\n", e)
			continue
		}
		failed = append(failed, e)
	}
	if r.Interrupted {
		failed = append(failed, errors.New("interrupted: the figures are of what was read until then"))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if refused {
		return errRefused
	}
	return nil
}

// keysSHA256 is the SHA-256 of the sorted keys, joined.
func keysSHA256(ctx context.Context, s store.Store, crawl string) (string, error) {
	h := sha256.New()
	for key, err := range s.Keys(ctx, crawl) {
		if err != nil {
			return "", fmt.Errorf("cannot list the keys: %w", err)
		}
		h.Write(key[:])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// listOf makes an input of a file's lines.
func listOf(files *fileSet, name string) replay.Input {
	return replay.Input{Name: name, Open: func() iter.Seq2[*replay.Batch, error] {
		f, err := files.open(name)
		if err != nil {
			return func(yield func(*replay.Batch, error) bool) { yield(nil, err) }
		}
		return replay.List(f)
	}}
}

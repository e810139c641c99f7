package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/store/pebblestore"
)

func newVerifyCmd(a *app) *cobra.Command {
	var db string
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify --db DIR",
		Short: "Check a store for damage, row by row",
		Long: `Read the whole store and check it: checksums, the form of every row, every count, the
in-memory index and the queues, and the fetches that serve kept to judge the rules by. Each
finding names the error and its consequence. If the counts differ from the rows, --repair opens
the store and corrects the counts by the rows. If the log is damaged before its end, --repair cuts
it there: what was recorded later is lost. Restore a backup instead if you have one.

A backup is a store as well: "firstseen verify --db BACKUP" reads all of it, and changes nothing.

This is for stores on disk. For a store in Redis, "firstseen copy --from-redis" to a file reads
every row; there is no other check.`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			if db == "" {
				return misusef("no store is named: give --db DIR")
			}
			mode := pebblestore.OpenReadOnly
			if repair {
				mode = pebblestore.OpenRepair
			}
			s, err := pebblestore.Open(db, pebblestore.Options{Mode: mode})
			if err != nil {
				return err
			}
			return errors.Join(verify(cmd.Context(), a, s), verifyCaptures(a, db), s.Close())
		}),
	}
	cmd.Flags().StringVar(&db, "db", "", "directory of the store")
	cmd.Flags().BoolVar(&repair, "repair", false, "correct the counts if they differ from the rows, and cut a damaged log before the damage")
	return cmd
}

func verify(ctx context.Context, a *app, s *pebblestore.Store) error {
	report, err := s.Verify(ctx)
	if report != nil {
		out := newOutput(a.out)
		out.line(fmt.Sprintf("%s rows read, %s keys", grouped(report.Rows), grouped(report.Keys)))
		for _, text := range report.Repaired {
			out.line("repaired: " + text)
		}
		for _, f := range report.Findings {
			out.line(fmt.Sprintf("row %x: %s", f.Row, f.Text))
		}
		if report.More > 0 {
			out.line(fmt.Sprintf("and %d more", report.More))
		}
		err = errors.Join(err, out.Flush())
		if err == nil && len(report.Findings) > 0 {
			err = fmt.Errorf("the store is damaged: %d findings", int64(len(report.Findings))+report.More)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot verify: %w", err)
	}
	return nil
}

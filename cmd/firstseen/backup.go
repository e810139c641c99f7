package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// backupFlags name the store to back up, and where to.
type backupFlags struct {
	daemon       daemonFlags
	db, to       string
	redis        redisFlags
	keep         int
	list, asJSON bool
}

func newBackupCmd(a *app) *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:   "backup (--daemon ADDR | --db DIR --to DIR) [NAME]",
		Short: "Back up a store, also while its daemon runs",
		Long: `Make a backup of a store. A running daemon writes it into the directory that its
--backup-dir names, and serves in the meantime. All that was acknowledged before the command
began is in the backup, and the backup is the store as it was at one moment. The default NAME
is the time, such as 2026-01-31T040000Z.

A backup is a directory that has a store. Files that never change are shared by hard links:
with the store if it is on the same file system, else with earlier backups. So a backup on the
disk of the store is small and quick, and protects from mistakes; one on another disk also
protects from a lost disk.

--keep 7 removes the oldest backups beyond seven when the new one is complete.

A store in Redis is backed up by the means of Redis (BGSAVE of each node), or crawl by crawl by
"firstseen copy --from-redis ADDR --to-file FILE".`,
		Example: `  firstseen serve --db crawl.db --backup-dir backups
  firstseen backup --daemon 127.0.0.1:7072 --keep 7
  firstseen backup --daemon 127.0.0.1:7072 --list
  firstseen backup --db stopped.db --to backups before-upgrade`,
		Args: takes(0, 1, "one name at most"),
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	fs := cmd.Flags()
	f.daemon.add(fs)
	fs.StringVar(&f.db, "db", "", "directory of a store that no daemon has open")
	fs.StringVar(&f.to, "to", "", "with --db: directory of the backups; made if need be")
	f.redis.add(fs)
	number(fs, &f.keep, "keep", 0, 0, 0, "number of backups to keep, the latest; 0 keeps all")
	typed(fs, "keep")
	fs.BoolVar(&f.list, "list", false, "only list the backups")
	fs.BoolVar(&f.asJSON, "json", false, "write JSON, an object for each backup")
	cmd.MarkFlagsOneRequired("daemon", "db", "redis")
	cmd.MarkFlagsMutuallyExclusive("daemon", "db", "redis")
	cmd.MarkFlagsMutuallyExclusive("daemon", "to")
	return cmd
}

func (f *backupFlags) run(ctx context.Context, a *app, args []string) error {
	if f.redis.given() {
		return misusef(`cannot back up a store in Redis; use BGSAVE on each node, or "firstseen copy --from-redis ADDR --to-file FILE" for each crawl`)
	}
	if f.db != "" && f.to == "" {
		return misusef("cannot back up; got --db alone; want --to with it, the directory of the backups")
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	var all []wire.Backup
	var err error
	if f.daemon.given() {
		all, err = f.askDaemon(ctx, name)
	} else {
		all, err = f.onDisk(ctx, name)
	}
	return errors.Join(f.write(a, all), err)
}

func (f *backupFlags) askDaemon(ctx context.Context, name string) ([]wire.Backup, error) {
	d, err := f.daemon.open()
	if err != nil {
		return nil, err
	}
	if f.list {
		var answer wire.Backups
		err := d.get(ctx, "/v1/backup", nil, &answer)
		return answer.Backups, err
	}
	made := make([]wire.Backup, 1)
	err = d.post(ctx, "/v1/backup", wire.BackupRequest{Name: name, Keep: f.keep}, &made[0])
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (f *backupFlags) onDisk(ctx context.Context, name string) (all []wire.Backup, err error) {
	if f.list {
		dir, err := durable.OpenBackups(f.to, nil, f.db)
		if err != nil {
			return nil, err
		}
		return dir.List()
	}
	s, err := pebblestore.Open(f.db, pebblestore.Options{Mode: pebblestore.OpenExisting, IndexBytes: -1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	dir, err := durable.OpenBackups(f.to, s, f.db)
	if err != nil {
		return nil, err
	}
	made, err := dir.Make(ctx, name, f.keep)
	if err != nil {
		return nil, err
	}
	return []wire.Backup{made}, nil
}

func (f *backupFlags) write(a *app, all []wire.Backup) error {
	out := newOutput(a.out)
	for _, b := range all {
		if f.asJSON {
			out.json(b)
			continue
		}
		out.line(fmt.Sprintf("%s  %s  %s  %s bytes, %s of them copied  %.1f s", b.Name, b.Created.Format(time.RFC3339),
			plural(b.Keys, "key"), grouped(b.Bytes), grouped(b.Copied), b.Seconds))
		for _, old := range b.Removed {
			out.line("removed " + old)
		}
	}
	return endOutput(out, 0)
}

func newRestoreCmd(a *app) *cobra.Command {
	var db string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "restore --db DIR BACKUP",
		Short: "Restore a store from a backup",
		Long: `Restore a store from a backup, in a directory that is empty or does not exist. The backup stays as
it is. URLs that were queued or leased when the backup was made are queued or leased again: pages fetched since then are
fetched once more, and URLs found since then are unknown until they are found again.

An incomplete backup is refused, and a damaged one when its store does not open. To read all of
a backup, use "firstseen verify --db BACKUP".`,
		Example: "  firstseen restore --db crawl.db backups/2026-01-31T040000Z && firstseen serve --db crawl.db",
		Args:    takes(1, 1, "the directory of one backup"),
		RunE: running(func(cmd *cobra.Command, args []string) error {
			if db == "" {
				return misusef("cannot restore; got no --db; want the directory of the new store")
			}
			info, err := durable.Restore(cmd.Context(), filepath.Clean(args[0]), db)
			if err != nil {
				return err
			}
			return a.answer(asJSON, info, func(out *output) {
				out.line(fmt.Sprintf("%s has backup %s of %s, %s", db, info.Name, info.Created.Format(time.RFC3339), plural(info.Keys, "key")))
			})
		}),
	}
	cmd.Flags().StringVar(&db, "db", "", "directory of the new store")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

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
		out.line(fmt.Sprintf("%s read, %s", plural(report.Rows, "row"), plural(report.Keys, "key")))
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
			err = fmt.Errorf("the store is damaged: %s", plural(int64(len(report.Findings))+report.More, "finding"))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot verify: %w", err)
	}
	return nil
}

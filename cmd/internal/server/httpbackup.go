package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/internal/wire"
)

func (s *Server) postBackup(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.BackupRequest](s, w, r)
	if !ok || !s.hasBackups(w) {
		return
	}
	if body.Keep < 0 {
		writeError(w, http.StatusBadRequest, "invalid", fmt.Sprintf("cannot back up; got keep %d; want 0, for all backups, or the number of backups that stay", body.Keep))
		return
	}
	if s.disk.full() {
		s.writeFault(w, "back up", errDiskLow)
		return
	}
	info, err := s.cfg.Backups.Make(r.Context(), body.Name, body.Keep)
	switch {
	case err == nil:
		s.backups.made(&info)
		s.log.Info("backup is complete", "name", info.Name, "seconds", info.Seconds, "keys", info.Keys, "bytes", info.Bytes, "copied", info.Copied, "removed", info.Removed)
		writeJSON(w, http.StatusOK, info)
	case errors.Is(err, backup.ErrName):
		writeError(w, http.StatusBadRequest, "invalid", err.Error())
	case errors.Is(err, backup.ErrExists):
		writeError(w, http.StatusConflict, "exists", err.Error()+"; choose another name")
	case errors.Is(err, backup.ErrBusy):
		writeError(w, http.StatusConflict, "busy", err.Error()+"; try again when it is complete")
	default:
		s.backups.failed.Inc()
		s.writeFault(w, "back up", err)
	}
}

func (s *Server) getBackup(w http.ResponseWriter, _ *http.Request) {
	if !s.hasBackups(w) {
		return
	}
	all, err := s.cfg.Backups.List()
	if err != nil {
		s.writeFault(w, "list backups", err)
		return
	}
	writeJSON(w, http.StatusOK, wire.Backups{Backups: all})
}

// hasBackups answers a request that needs a directory of backups, if there is none.
func (s *Server) hasBackups(w http.ResponseWriter) bool {
	if s.cfg.Backups != nil {
		return true
	}
	writeError(w, http.StatusConflict, "no-backups", "cannot back up: the daemon has no directory for backups; start it with --backup-dir. "+
		"A store in Redis is backed up by the means of Redis, or crawl by crawl with firstseen copy --to-file")
	return false
}

// backupMetrics are the metrics of backups.
type backupMetrics struct {
	last, seconds, bytes prometheus.Gauge
	failed               prometheus.Counter
}

// newBackupMetrics makes the metrics. They are served if there is a directory for backups; the
// last backup may be of an earlier process.
func (s *Server) newBackupMetrics(ctx context.Context) *backupMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "firstseen_backup_" + name, Help: help})
	}
	m := &backupMetrics{
		last:    gauge("time_seconds", "Time at which the latest backup began, in seconds since 1970; 0 if there is none."),
		seconds: gauge("duration_seconds", "Seconds that the latest backup took."),
		bytes:   gauge("bytes", "Bytes of the latest backup, with the files that it shares with others."),
		failed:  prometheus.NewCounter(prometheus.CounterOpts{Name: "firstseen_backup_failures_total", Help: "Backups that failed."}),
	}
	if s.cfg.Backups == nil {
		return m
	}
	s.registry.MustRegister(m.last, m.seconds, m.bytes, m.failed)
	all, err := s.cfg.Backups.List()
	if err != nil {
		s.log.ErrorContext(ctx, "cannot list backups", "error", err)
	} else if len(all) > 0 {
		m.made(&all[len(all)-1])
	}
	return m
}

func (m *backupMetrics) made(b *backup.Info) {
	m.last.Set(float64(b.Created.UnixNano()) / float64(time.Second))
	m.seconds.Set(b.Seconds)
	m.bytes.Set(float64(b.Bytes))
}

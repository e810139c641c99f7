package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/cmd/internal/backup"
)

// backupMetrics are the metrics of backups.
type backupMetrics struct {
	last, seconds, bytes prometheus.Gauge
	failed               prometheus.Counter
}

// registerBackups makes the metrics of backups. They are served if there is a directory for backups; the
// last backup may be of an earlier process.
func (s *metrics) registerBackups(ctx context.Context) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "firstseen_backup_" + name, Help: help})
	}
	m := &backupMetrics{
		last:    gauge("time_seconds", "Time at which the latest backup began, in seconds since 1970; 0 if there is none."),
		seconds: gauge("duration_seconds", "Seconds that the latest backup took."),
		bytes:   gauge("bytes", "Bytes of the latest backup, with the files that it shares with others."),
		failed:  prometheus.NewCounter(prometheus.CounterOpts{Name: "firstseen_backup_failures_total", Help: "Backups that failed."}),
	}
	if s.backups = m; s.cfg.Backups == nil {
		return
	}
	s.registry.MustRegister(m.last, m.seconds, m.bytes, m.failed)
	all, err := s.cfg.Backups.List()
	if err != nil {
		s.log.ErrorContext(ctx, "cannot list backups", "error", err)
	} else if len(all) > 0 {
		m.made(&all[len(all)-1])
	}
}

func (m *backupMetrics) made(b *backup.Info) {
	m.last.Set(float64(b.Created.UnixNano()) / float64(time.Second))
	m.seconds.Set(b.Seconds)
	m.bytes.Set(float64(b.Bytes))
}

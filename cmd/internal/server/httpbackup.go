package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/internal/wire"
)

func (s *httpAPI) postBackup(w http.ResponseWriter, r *http.Request) {
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

func (s *httpAPI) getBackup(w http.ResponseWriter, _ *http.Request) {
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
func (s *httpAPI) hasBackups(w http.ResponseWriter) bool {
	if s.cfg.Backups != nil {
		return true
	}
	writeError(w, http.StatusConflict, "no-backups", "cannot back up: the daemon has no directory for backups; start it with --backup-dir. "+
		"A store in Redis is backed up by the means of Redis, or crawl by crawl with firstseen copy --to-file")
	return false
}

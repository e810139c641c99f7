package server

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that went away needs no answer
}

func (s *httpAPI) getStats(w http.ResponseWriter, r *http.Request) {
	crawl := r.URL.Query().Get("crawl")
	if crawl != "*" {
		crawl = crawlName(crawl)
	}
	st, err := s.f.Stats(r.Context(), crawl)
	if err != nil {
		s.writeFault(w, "count", err)
		return
	}
	a := wire.Stats{Crawl: crawl, Seen: st.Seen, Held: st.Held, InFlight: st.InFlight, Completed: st.Completed, Dropped: st.Dropped,
		Fetched: st.Fetched, Failed: st.Failed, Marked: st.Marked,
		Queues: st.Queues, Active: st.Active, Crawls: []string{}, Refused: []wire.Refusal{},
		Serving: !s.paused.Load() && !s.isDraining(), DiskLow: s.disk.full()}
	id, err := s.identityOf(r.Context(), crawl)
	a.Profile, a.Version, a.Unicode = id.Profile, id.Version, id.Unicode
	if err == nil {
		err = s.addStore(r.Context(), &a)
	}
	if err != nil {
		s.writeFault(w, "count", err)
		return
	}
	a.Settings, err = s.settingsOf(r.Context(), crawl, "")
	if err != nil && crawl == "*" { // of a token for some crawls
		err = nil
	}
	names, errNames := s.f.Crawls(r.Context())
	if err = cmp.Or(err, errNames); err != nil {
		s.writeFault(w, "list crawls", err)
		return
	}
	a.Crawls = append(a.Crawls, names...)
	if a.Counters, err = s.counterValues(r.Context()); err != nil {
		s.writeFault(w, "read counters", err)
		return
	}
	for ref := range s.f.Refusals(r.Context()) {
		if crawl == "*" || ref.Crawl == crawl {
			a.Refused = append(a.Refused, wire.Refusal{Crawl: ref.Crawl, Reason: string(ref.Reason), Rule: ref.Rule, Dropped: ref.Dropped, Count: ref.Count, Examples: ref.Examples})
		}
	}
	writeJSON(w, http.StatusOK, a)
}

// addStore adds the size of a store on disk, for tokens that are for all of it.
func (s *httpAPI) addStore(ctx context.Context, a *wire.Stats) error {
	have, err := s.f.grant(ctx)
	if err != nil || have.crawls != nil || s.cfg.Store == nil {
		return err
	}
	m, err := s.cfg.Store.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("cannot read metrics: %w", err)
	}
	a.DiskBytes, a.Index = m.DiskBytes, &wire.Index{Mode: m.Index.Mode(), Bytes: m.Index.Bytes, WronglyDropped: m.Index.WronglyDropped}
	return nil
}

func (s *httpAPI) postCrawl(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.CrawlProfile](s, w, r)
	if !ok {
		return
	}
	p, err := canon.ParseProfile(body.Profile)
	if err != nil {
		err = fault.As(store.ErrInvalid, "cannot choose a profile: %w", err)
	}
	crawl, badCrawl := oneCrawl(body.Crawl)
	if err = cmp.Or(err, badCrawl); err == nil {
		err = s.inTurn(r.Context(), callUnits, func(ctx context.Context) error {
			return s.f.SetCrawlProfile(ctx, crawl, p)
		})
	}
	if err != nil {
		s.writeFault(w, "choose a profile", err)
		return
	}
	writeJSON(w, http.StatusOK, wire.CrawlProfile{Crawl: crawl, Profile: s.f.Profile(crawl).String()})
}

func (s *httpAPI) getTraps(w http.ResponseWriter, _ *http.Request) {
	if y := s.cfg.Yield; y == nil {
		writeNoYield(w)
	} else {
		writeJSON(w, http.StatusOK, wire.Traps{Shadow: y.Shadow(), URLs: y.URLs(), Templates: y.List()})
	}
}

// postTraps keeps a template from being lowered, or ends that.
func (s *httpAPI) postTraps(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.LiftRequest](s, w, r)
	if !ok {
		return
	}
	if s.cfg.Yield == nil {
		writeNoYield(w)
		return
	}
	is, ok := s.cfg.Yield.Lift(body.Template, *body.Lifted)
	if !ok {
		writeError(w, http.StatusNotFound, "not-found", "cannot lift a template; none of its fetches was counted lately; GET /v1/traps and /v1/explain return the names")
		return
	}
	writeJSON(w, http.StatusOK, is)
}

func writeNoYield(w http.ResponseWriter) {
	writeError(w, http.StatusConflict, "off", "cannot report traps by yield; serve with --traps http,yield or http,yield-shadow")
}

func (s *httpAPI) postBackup(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON[wire.BackupRequest](s, w, r)
	if !ok || !s.hasBackups(w) {
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

// getHistory answers the samples of the last hour and one of now.
func (s *httpAPI) getHistory(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, wire.History{Samples: append(s.history.list(), s.sample(r.Context()))})
}

package server

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that went away needs no answer
}

func (s *httpAPI) getStats(ctx context.Context, q url.Values) (a wire.Stats, err error) {
	crawl := q.Get("crawl")
	if crawl != "*" {
		crawl = crawlName(crawl)
	}
	st, err := s.f.Stats(ctx, crawl)
	if err != nil {
		return a, err
	}
	a = wire.Stats{Crawl: crawl, Seen: st.Seen, Held: st.Held, InFlight: st.InFlight, Completed: st.Completed, Dropped: st.Dropped,
		Fetched: st.Fetched, Failed: st.Failed, Marked: st.Marked,
		Queues: st.Queues, Active: st.Active, Crawls: []string{}, Refused: []wire.Refusal{},
		Serving: !s.paused.Load() && !s.isDraining(), DiskLow: s.disk.full()}
	id, err := s.identityOf(ctx, crawl)
	a.Profile, a.Version, a.Unicode = id.Profile, id.Version, id.Unicode
	if err == nil {
		err = s.addStore(ctx, &a)
	}
	if err != nil {
		return a, err
	}
	if a.Settings, err = s.settingsOf(ctx, crawl, ""); err != nil && crawl != "*" { // "*" may be of a token for some crawls
		return a, err
	}
	names, err := s.f.Crawls(ctx)
	if err != nil {
		return a, err
	}
	a.Crawls = append(a.Crawls, names...)
	for ref := range s.f.Refusals(ctx) {
		if crawl == "*" || ref.Crawl == crawl {
			a.Refused = append(a.Refused, wire.Refusal{Crawl: ref.Crawl, Reason: string(ref.Reason), Rule: ref.Rule, Dropped: ref.Dropped, Count: ref.Count, Examples: ref.Examples})
		}
	}
	a.Counters, err = s.counterValues(ctx)
	return a, err
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

func (s *httpAPI) postCrawl(ctx context.Context, body *wire.CrawlProfile) (is wire.CrawlProfile, err error) {
	p, err := canon.ParseProfile(body.Profile)
	if err != nil {
		return is, fault.As(store.ErrInvalid, "cannot choose a profile: %w", err)
	}
	if is.Crawl, err = oneCrawl(body.Crawl); err == nil {
		err = s.f.SetCrawlProfile(ctx, is.Crawl, p)
	}
	is.Profile = s.f.Profile(is.Crawl).String()
	return is, err
}

func (s *httpAPI) getTraps(context.Context, url.Values) (wire.Traps, error) {
	st := s.cfg.Evidence.Stats()
	if !st.Counts {
		return wire.Traps{}, errNoYield
	}
	return wire.Traps{Shadow: st.Shadow, URLs: st.URLs, Templates: s.cfg.Evidence.List()}, nil
}

// postTraps keeps a template from being lowered, or ends that.
func (s *httpAPI) postTraps(_ context.Context, body *wire.LiftRequest) (is wire.Trap, err error) {
	if !s.cfg.Evidence.Stats().Counts {
		return is, errNoYield
	}
	is, ok := s.cfg.Evidence.Lift(body.Template, *body.Lifted)
	if !ok {
		err = fault.As(store.ErrNotFound, "cannot lift a template; none of its fetches was counted lately; GET /v1/traps and /v1/explain return the names")
	}
	return is, err
}

var errNoYield = refusedAs(http.StatusConflict, "off", "cannot report traps by yield; serve with --traps http,yield or http,yield-shadow, and without --heuristics=false")

func (s *httpAPI) getDeclared(context.Context, url.Values) (wire.Declarations, error) {
	return wire.Declarations{Places: s.cfg.Evidence.Declared()}, nil
}

// postDeclared takes a rule that a trusted host declared out of use, or ends that.
func (s *httpAPI) postDeclared(_ context.Context, body *wire.RevokeRequest) (wire.Declared, error) {
	return s.cfg.Evidence.Revoke(body.Host, body.Path, body.Pattern, *body.Revoked)
}

func (s *httpAPI) postBackup(ctx context.Context, body *wire.BackupRequest) (info wire.Backup, err error) {
	switch {
	case s.cfg.Backups == nil:
		return info, errNoBackups
	case s.disk.full():
		return info, errDiskLow
	}
	info, err = s.cfg.Backups.Make(ctx, body.Name, body.Keep)
	switch {
	case err == nil:
		s.backups.made(&info)
		s.log.Info("backup is complete", "name", info.Name, "seconds", info.Seconds, "keys", info.Keys, "bytes", info.Bytes, "copied", info.Copied, "removed", info.Removed)
	case errors.Is(err, durable.ErrName):
		err = refusedAs(http.StatusBadRequest, "invalid", err.Error())
	case errors.Is(err, durable.ErrExists):
		err = refusedAs(http.StatusConflict, "exists", err.Error()+"; choose another name")
	case errors.Is(err, durable.ErrBusy):
		err = refusedAs(http.StatusConflict, "busy", err.Error()+"; try again when it is complete")
	default:
		s.backups.failed.Inc()
	}
	return info, err
}

func (s *httpAPI) getBackup(context.Context, url.Values) (all wire.Backups, err error) {
	if s.cfg.Backups == nil {
		return all, errNoBackups
	}
	all.Backups, err = s.cfg.Backups.List()
	return all, err
}

var errNoBackups = refusedAs(http.StatusConflict, "no-backups", "cannot back up: the daemon has no directory for backups; start it with --backup-dir. "+
	"A store in Redis is backed up by the means of Redis, or crawl by crawl with firstseen copy --to-file")

// getHistory answers the samples of the last hour and one of now.
func (s *httpAPI) getHistory(ctx context.Context, _ url.Values) (wire.History, error) {
	return wire.History{Samples: append(s.history.list(), s.sample(ctx))}, nil
}

// Exported is which crawl an export is of. It is in the header ExportHeader of the answer, as
// JSON with percent escapes.
type Exported struct {
	Crawl frontier.StoredCrawl `json:"crawl"`
	Store store.Identity       `json:"store"` // of the whole store
}

// ExportHeader has an Exported.
const ExportHeader = "Firstseen-Crawl"

// getExport writes a crawl as a crawl file, or its keys as a key file. Only one export is written
// at a time, because it reads the whole crawl and has a temporary file.
func (s *httpAPI) getExport(w http.ResponseWriter, r *http.Request) {
	st := s.cfg.Exports
	if st == nil {
		writeError(w, http.StatusConflict, "no-exports", "cannot export: the daemon has no store to export from")
		return
	}
	select {
	case s.exporting <- struct{}{}:
		defer func() { <-s.exporting }()
	default:
		writeError(w, http.StatusConflict, "busy", "cannot export while another export is written; try again when it is complete")
		return
	}
	crawl, err := oneCrawl(r.URL.Query().Get("crawl"))
	var from frontier.StoredCrawl
	if err == nil {
		from, err = s.f.FindCrawl(r.Context(), st, crawl)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(Exported{from, st.Identity()})
	}
	if err != nil {
		s.writeFault(w, "export", err)
		return
	}
	w.Header().Set(ExportHeader, url.PathEscape(string(text)))
	w.Header().Set("Content-Type", "application/octet-stream")
	s.stream(w, r, "export crawl "+from.Name, func(ctx context.Context, w io.Writer) error {
		if r.URL.Query().Has("keys") {
			_, err := crawlfile.ExportKeys(ctx, w, st, from.Stored, from.Identity)
			return err
		}
		scopes, err := from.Scopes(ctx, st)
		if err == nil {
			_, err = crawlfile.Export(ctx, w, st, from.Stored, from.Identity, scopes)
		}
		return err
	})
}

package server

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/frontier"
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
	names, err := s.f.Crawls(r.Context())
	if err != nil {
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
			a.Refused = append(a.Refused, wire.Refusal{Crawl: ref.Crawl, Reason: string(ref.Reason), Dropped: ref.Dropped, Count: ref.Count, Examples: ref.Examples})
		}
	}
	writeJSON(w, http.StatusOK, a)
}

// identityOf returns what makes the keys of a crawl: for "*" and a crawl that is not there, those of the store.
func (s *service) identityOf(ctx context.Context, crawl string) (store.Identity, error) {
	if s.cfg.Exports == nil {
		return store.IdentityOf(s.cfg.Profile()), nil
	}
	c, err := frontier.FindCrawl(ctx, s.cfg.Exports, crawl)
	if errors.Is(err, store.ErrNotFound) {
		return s.cfg.Exports.Identity(), nil
	}
	return c.Identity, err
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

// counterValues reads the counters that /metrics shows, by name and labels as
// they stand there. Histograms and summaries give their count and sum. They count all crawls, so
// that a token for some crawls gets none. Those of HTTP requests and of crawls are left out: there are many, and
// no page shows them.
func (s *metrics) counterValues(ctx context.Context) (map[string]float64, error) {
	if have, err := s.f.grant(ctx); err != nil || have.crawls != nil {
		return map[string]float64{}, err
	}
	families, err := s.registry.Gather()
	if err != nil {
		return nil, err
	}
	values := make(map[string]float64)
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "firstseen_http_") || strings.HasPrefix(name, "firstseen_crawl_") || !strings.HasPrefix(name, "firstseen_") && !strings.HasPrefix(name, "frontier_") {
			continue
		}
		for _, m := range f.GetMetric() {
			addValues(values, name, m)
		}
	}
	return values, nil
}

func addValues(values map[string]float64, name string, m *dto.Metric) {
	labels := labelText(m.GetLabel())
	switch {
	case m.GetHistogram() != nil:
		values[name+"_count"+labels] = float64(m.GetHistogram().GetSampleCount())
		values[name+"_sum"+labels] = m.GetHistogram().GetSampleSum()
	case m.GetSummary() != nil:
		values[name+"_count"+labels] = float64(m.GetSummary().GetSampleCount())
		values[name+"_sum"+labels] = m.GetSummary().GetSampleSum()
	case m.GetCounter() != nil:
		values[name+labels] = m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		values[name+labels] = m.GetGauge().GetValue()
	}
}

func labelText(pairs []*dto.LabelPair) string {
	if len(pairs) == 0 {
		return ""
	}
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.GetName() + "=" + strconv.Quote(p.GetValue())
	}
	return "{" + strings.Join(texts, ",") + "}"
}

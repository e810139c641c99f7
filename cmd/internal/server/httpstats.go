package server

import (
	_ "embed"
	"net/http"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that went away needs no answer
}

func (s *Server) getStats(w http.ResponseWriter, r *http.Request) {
	crawl := r.URL.Query().Get("crawl")
	if crawl != "*" {
		crawl = crawlName(crawl)
	}
	st, err := s.f.Stats(r.Context(), crawl)
	if err != nil {
		s.writeFault(w, "count", err)
		return
	}
	a := answerOf(crawl, st)
	if a.Crawls, err = s.crawlNames(r.Context()); err != nil {
		s.writeFault(w, "list crawls", err)
		return
	}
	if a.Counters, err = s.counterValues(); err != nil {
		s.writeFault(w, "read counters", err)
		return
	}
	a.Serving = !s.paused.Load() && !s.isDraining()
	a.DiskLow, a.Profile = s.disk.full(), s.cfg.Profile().String()
	for ref := range s.f.Refusals() {
		if crawl == "*" || ref.Crawl == crawl {
			a.Refused = append(a.Refused, wire.Refusal{Crawl: ref.Crawl, Reason: string(ref.Reason), Dropped: ref.Dropped, Count: ref.Count, Examples: ref.Examples})
		}
	}
	writeJSON(w, http.StatusOK, a)
}

func answerOf(crawl string, st store.Stats) wire.Stats {
	return wire.Stats{Crawl: crawl, Seen: st.Seen, Held: st.Held, InFlight: st.InFlight, Completed: st.Completed,
		Dropped: st.Dropped, Queues: st.Queues, Active: st.Active, Refused: []wire.Refusal{}, Crawls: []string{}}
}

// counterValues reads the counters that /metrics shows, by name and labels as
// they stand there. Histograms and summaries give their count and sum.
func (s *Server) counterValues() (map[string]float64, error) {
	families, err := s.registry.Gather()
	if err != nil {
		return nil, err
	}
	values := make(map[string]float64)
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "firstseen_") && !strings.HasPrefix(name, "frontier_") {
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

// queueAnswer is one queue of GET /v1/queues.
type queueAnswer struct {
	Crawl        string    `json:"crawl"`
	Queue        string    `json:"queue"`
	Held         int64     `json:"held"`
	InFlight     int64     `json:"in_flight"`
	Completed    int64     `json:"completed"`
	Dropped      int64     `json:"dropped"`
	State        string    `json:"state"` // ready, waiting, blocked, paused, limit, empty
	DelaySeconds float64   `json:"delay_seconds,omitempty"`
	Limit        int64     `json:"limit,omitempty"`
	Next         time.Time `json:"next,omitzero"`
	BlockedUntil time.Time `json:"blocked_until,omitzero"`
}

type queuesAnswer struct {
	Queues []queueAnswer `json:"queues"`
	// More is the queue to ask on from, as after; empty at the end.
	More string `json:"more,omitempty"`
}

// maxLooked bounds the queues looked at for one page of a search.
const maxLooked = 200_000

// getQueues lists queues of a crawl whose name contains a text, page by page.
func (s *Server) getQueues(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := pageSize
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10_000 {
			writeError(w, http.StatusBadRequest, "invalid", "want limit 1 to 10000")
			return
		}
		limit = n
	}
	match := matcher(q.Get("search"), true)
	answer := queuesAnswer{Queues: []queueAnswer{}}
	now, looked := time.Now(), 0
	for info, err := range s.f.Queues(r.Context(), crawlName(q.Get("crawl")), q.Get("after")) {
		if err != nil {
			s.writeFault(w, "list queues", err)
			return
		}
		if match(info.Name) {
			answer.Queues = append(answer.Queues, wireQueue(&info, now))
		}
		if looked++; len(answer.Queues) == limit || looked == maxLooked {
			answer.More = info.Name
			break
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

func wireQueue(q *store.QueueInfo, now time.Time) queueAnswer {
	a := queueAnswer{Crawl: q.Crawl, Queue: q.Name, Held: q.Held, InFlight: q.InFlight, Completed: q.Completed, Dropped: q.Dropped,
		DelaySeconds: max(q.Delay, 0).Seconds(), Limit: q.Limit, Next: q.Next, BlockedUntil: q.BlockedUntil, State: "ready"}
	switch {
	case q.Paused:
		a.State = "paused"
	case q.BlockedUntil.After(now):
		a.State = "blocked"
	case q.Limit > 0 && q.Completed >= q.Limit:
		a.State = "limit"
	case q.Held == 0:
		a.State = "empty"
	case q.Held == q.InFlight || q.Next.After(now):
		a.State = "waiting"
	}
	return a
}

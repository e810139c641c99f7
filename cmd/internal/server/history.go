package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store/captures"
)

const (
	sampleEvery = 5 * time.Second
	samples     = 720 // an hour
)

// history keeps the samples of the last hour, oldest first. Safe for
// concurrent use.
type history struct {
	mu   sync.Mutex
	ring []wire.Sample
}

func (h *history) add(s wire.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) == samples {
		h.ring = append(h.ring[:0], h.ring[1:]...)
	}
	h.ring = append(h.ring, s)
}

func (h *history) list() []wire.Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]wire.Sample{}, h.ring...)
}

// record takes samples until ctx ends.
func (s *metrics) record(ctx context.Context) {
	for more := true; more; more = async.Sleep(ctx, sampleEvery) == nil {
		s.history.add(s.sample(ctx))
	}
}

func (s *metrics) sample(ctx context.Context) wire.Sample {
	c := s.count
	out := wire.Sample{At: time.Now(), New: value(c.fresh), Duplicate: value(c.duplicate), Refused: value(c.refused),
		Leased: value(c.getURLs), Completed: value(c.putCompleted)}
	if st, err := s.f.own.Stats(ctx, "*"); err == nil {
		out.Held, out.InFlight = st.Held, st.InFlight
	}
	return out
}

func value(c prometheus.Counter) float64 {
	var m dto.Metric
	if c.Write(&m) != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}

// judge audits the captures that the frontier keeps: now and then, and when asked. What it
// last found is what the dashboard and /metrics show.
type judge struct {
	sample *captures.Sample // nil: nothing is kept
	one    chan struct{}    // holds something while an audit works: each takes as much memory as the sample
	last   atomic.Pointer[judgement]
}

// judgement is the answer of /v1/audit.
type judgement = wire.Judgement[*audit.Report]

var errNoCaptures = errors.New("cannot judge; this daemon keeps no captures: see --captures")

// judgeNowAndThen audits when there is something new, until ctx ends.
func (s *metrics) judgeNowAndThen(ctx context.Context) {
	if s.judge.sample == nil || s.cfg.AuditEvery < 0 {
		return
	}
	for async.Sleep(ctx, s.cfg.AuditEvery) == nil {
		last := s.judge.last.Load()
		if taken := s.judge.sample.Stats().Taken; taken == 0 || last != nil && taken == last.Taken {
			continue
		}
		if _, err := s.judgeNext(ctx, s.judgeNow); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot judge the rules; trying again later", "error", err)
		}
	}
}

// judgeNext audits once no other audit works.
func (s *metrics) judgeNext(ctx context.Context, judge func(context.Context) (*judgement, error)) (*judgement, error) {
	if s.judge.sample == nil {
		return nil, errNoCaptures
	}
	select {
	case s.judge.one <- struct{}{}:
		defer func() { <-s.judge.one }()
		return judge(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// judgeInTurn audits in a turn of a client.
func (s *metrics) judgeInTurn(ctx context.Context) (j *judgement, err error) {
	err = s.inTurn(ctx, callUnits, func(ctx context.Context) (err error) {
		j, err = s.judgeNow(ctx)
		return err
	})
	return j, err
}

// judgeNow audits. One audit works at a time, see judgeNext.
func (s *metrics) judgeNow(ctx context.Context) (*judgement, error) {
	st := s.judge.sample.Stats()
	log := audit.NewLog(audit.Options{})
	if err := log.AddSample(ctx, s.judge.sample); err != nil {
		return nil, fmt.Errorf("cannot read captures: %w", err)
	}
	report, err := audit.Run(ctx, log, audit.Request{Profile: s.cfg.Profile()})
	if err != nil {
		return nil, fmt.Errorf("cannot judge captures: %w", err)
	}
	j := &judgement{JudgedAt: time.Now().UTC(), Captures: st.Rows, Share: st.Share, Taken: st.Taken, Report: report}
	s.judge.last.Store(j)
	return j, nil
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/store/captures"
)

// getAudit answers with the last judgement, and makes one if there is none.
func (s *httpAPI) getAudit(ctx context.Context, _ url.Values) (*evidence.Judgement, error) {
	if j := s.cfg.Evidence.Judged(); j != nil {
		return j, nil
	}
	return s.postAudit(ctx, nil)
}

// postAudit judges now.
func (s *httpAPI) postAudit(ctx context.Context, _ url.Values) (*evidence.Judgement, error) {
	j, err := s.cfg.Evidence.Judge(ctx, func(ctx context.Context, judge func(context.Context) error) error {
		return s.inTurn(ctx, callUnits, judge)
	})
	if errors.Is(err, evidence.ErrNoCaptures) {
		err = s.noCaptures()
	}
	return j, err
}

// noCaptures says that there is nothing to judge by, and why.
func (s *httpAPI) noCaptures() error {
	if _, err := s.cfg.Evidence.Captures(); err != nil {
		return refusedAs(http.StatusServiceUnavailable, "unavailable", "cannot judge; "+err.Error())
	}
	return refusedAs(http.StatusConflict, "off", evidence.ErrNoCaptures.Error())
}

// getCaptures writes the captures as CDXJ, which audit and learn read.
func (s *httpAPI) getCaptures(w http.ResponseWriter, r *http.Request) {
	sample, _ := s.cfg.Evidence.Captures()
	if sample == nil {
		s.writeFault(w, "send captures", s.noCaptures())
		return
	}
	w.Header().Set("Content-Type", "text/x-cdxj; charset=utf-8")
	s.stream(w, r, "send captures", func(_ context.Context, out io.Writer) error {
		for c, err := range sample.All() {
			if err == nil {
				err = writeCDXJ(out, &c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// captureLine is the object of a CDXJ line.
type captureLine struct {
	URL      string `json:"url"`
	Status   string `json:"status,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Redirect string `json:"redirect,omitempty"`

	Canonical    string `json:"canonical,omitempty"`
	NoVarySearch string `json:"no_vary_search,omitempty"`
	CleanParam   string `json:"clean_param,omitempty"`
}

func writeCDXJ(out io.Writer, c *captures.Capture) error {
	line := captureLine{URL: wireURL(c.URL), Digest: c.Digest, Redirect: wireURL(c.Redirect),
		Canonical: wireURL(c.Canonical), NoVarySearch: c.NoVarySearch, CleanParam: c.CleanParam}
	if c.Status > 0 {
		line.Status = strconv.Itoa(c.Status)
	}
	object, err := json.Marshal(line)
	if err != nil {
		return err
	}
	key, err := canon.SURT().Canonicalize(c.URL)
	if err != nil {
		key = "-"
	}
	_, err = fmt.Fprintf(out, "%s %s %s\n", key, c.Time.UTC().Format("20060102150405"), object)
	return err
}

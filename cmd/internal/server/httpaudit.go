package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store/captures"
)

// getAudit answers with the last judgement, and makes one if there is none.
func (s *httpAPI) getAudit(w http.ResponseWriter, r *http.Request) {
	if j := s.judge.last.Load(); j != nil {
		writeJSON(w, http.StatusOK, j)
		return
	}
	s.postAudit(w, r)
}

// postAudit judges now.
func (s *httpAPI) postAudit(w http.ResponseWriter, r *http.Request) {
	j, err := s.judgeNext(r.Context(), s.judgeInTurn)
	if errors.Is(err, errNoCaptures) {
		s.writeNoCaptures(w)
		return
	}
	if err != nil {
		s.writeFault(w, "judge", err)
		return
	}
	writeJSON(w, http.StatusOK, j)
}

// writeNoCaptures answers that there is nothing to judge by, and why.
func (s *httpAPI) writeNoCaptures(w http.ResponseWriter) {
	if err := s.cfg.CapturesError; err != nil {
		writeError(w, http.StatusServiceUnavailable, "unavailable", "cannot judge; "+err.Error())
		return
	}
	writeError(w, http.StatusConflict, "off", errNoCaptures.Error())
}

// getCaptures writes the captures as CDXJ, which audit and learn read.
func (s *httpAPI) getCaptures(w http.ResponseWriter, _ *http.Request) {
	if s.judge.sample == nil {
		s.writeNoCaptures(w)
		return
	}
	w.Header().Set("Content-Type", "text/x-cdxj; charset=utf-8")
	out := bufio.NewWriter(w)
	for c, err := range s.judge.sample.All() {
		if err == nil {
			err = writeCDXJ(out, &c)
		}
		if err != nil {
			s.log.Warn("cannot send all captures", "error", err)
			panic(http.ErrAbortHandler) // so that the client sees a broken answer, not a short one
		}
	}
	if err := out.Flush(); err != nil {
		s.log.Debug("cannot send captures", "error", err)
	}
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

func writeCDXJ(out *bufio.Writer, c *captures.Capture) error {
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

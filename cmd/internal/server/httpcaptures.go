package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store/captures"
)

// getCaptures writes the captures as CDXJ, which audit and learn read.
func (s *httpAPI) getCaptures(w http.ResponseWriter, r *http.Request) {
	sample, err := s.cfg.Evidence.Captures()
	switch {
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, "unavailable", "cannot send captures; "+err.Error())
		return
	case sample == nil:
		writeError(w, http.StatusConflict, "off", "cannot send captures; this daemon keeps none: see --captures")
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

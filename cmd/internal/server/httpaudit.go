package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/trust"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
)

func fetchedOf(b *wire.Fetched) (*frontier.Fetched, error) {
	if b == nil {
		return nil, nil
	}
	switch {
	case b.URL == "":
		return nil, fault.As(store.ErrInvalid, "cannot settle; got fetched without url; want the URL as fetched")
	case b.Status < 0 || b.Status > 999:
		return nil, fault.As(store.ErrInvalid, "cannot settle; got fetched with status %d; want 0 to 999", b.Status)
	}
	return &frontier.Fetched{URL: b.URL, Time: b.Time, Status: b.Status, Digest: b.Digest, Redirect: b.Redirect,
		Canonical: b.Canonical, NoVarySearch: b.NoVarySearch, CleanParam: b.CleanParam}, nil
}

// digestNames are what crawlers call the digest in a URL's metadata; StormCrawler's is
// "signature". statusNames and redirectNames are those of the status and the redirect target.
var (
	digestNames   = []string{"digest", "signature"}
	statusNames   = []string{"status", "fetch.statusCode"}
	redirectNames = []string{"redirect", "_redirTo"}

	canonicalNames = []string{"canonical"}
	noVaryNames    = []string{"no-vary-search"}
	cleanNames     = []string{"clean-param"}
)

// tellFetch sets the redirect target of a known URL from its metadata, and, if fetches are
// kept, their results.
func (s *service) tellFetch(k *frontier.Known) {
	wanted := s.cfg.Captures != nil || s.declared() != nil || s.cfg.Yield != nil
	if !wanted && !bytes.Contains(k.Meta, []byte("redir")) || !isMetadata(k.Meta) {
		return
	}
	info := &frontierpb.URLInfo{}
	unpackMeta(info, k.Meta)
	f := frontier.Fetched{Digest: firstValue(info, digestNames), Redirect: firstValue(info, redirectNames),
		NoVarySearch: firstValue(info, noVaryNames), CleanParam: firstValue(info, cleanNames)}
	if link := firstValue(info, canonicalNames); link != "" {
		f.Canonical = absolute(k.URL, link)
	}
	if f.Redirect != "" {
		k.Redirect = absolute(k.URL, f.Redirect)
	}
	if !wanted || f.Digest+f.Redirect+f.Canonical+f.NoVarySearch+f.CleanParam == "" {
		return
	}
	if n, err := strconv.Atoi(firstValue(info, statusNames)); err == nil && n > 0 && n <= 999 {
		f.Status = n
	}
	k.Fetched = &f
}

// declared counts the rules that trusted hosts declared; nil if no host is trusted.
func (s *service) declared() *trust.Stats {
	if s.cfg.Declared == nil {
		return nil
	}
	return s.cfg.Declared()
}

// absolute returns an absolute target as it is, and any other resolved.
func absolute(base, target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	return audit.Resolve(base, target)
}

func firstValue(info *frontierpb.URLInfo, names []string) string {
	for _, name := range names {
		if values := info.GetMetadata()[name].GetValues(); len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

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

package server

import (
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
)

// explanation is the answer of GET /v1/explain.
type explanation struct {
	Input     string       `json:"input"`
	Canonical string       `json:"canonical,omitempty"`
	Key       string       `json:"key,omitempty"`
	Queue     string       `json:"queue,omitempty"`
	Profile   string       `json:"profile"`
	Changes   []change     `json:"changes"`
	Known     *knownURL    `json:"known,omitempty"`
	Error     *faultDetail `json:"error,omitempty"`
}

type change struct {
	Rule   string `json:"rule"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Scope is the host and path of the rule file's entry by which the rule holds.
	Scope string `json:"scope,omitempty"`
}

// knownURL is what the store knows of a URL.
type knownURL struct {
	State string `json:"state"`
	First string `json:"first,omitempty"` // the spelling it was first found under, while that is kept
	// FirstBytes is First where that isn't UTF-8.
	FirstBytes []byte    `json:"first_bytes,omitempty"`
	Queue      string    `json:"queue,omitempty"`
	Due        time.Time `json:"due,omitzero"`
	Created    time.Time `json:"created,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
}

var stateNames = map[store.State]string{
	store.SeenOnly: "seen", store.Queued: "queued", store.Leased: "leased", store.Done: "done", store.Dropped: "dropped",
}

// getExplain says how a URL is read, and what is known of it. A URL that is
// refused has an explanation too.
func (s *Server) getExplain(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	u := frontier.Link{URL: q.Get("url"), Crawl: crawlName(q.Get("crawl")), Queue: q.Get("queue"), Discriminator: q.Get("discriminator")}
	if u.URL == "" {
		writeError(w, http.StatusBadRequest, "invalid", "want a query parameter url")
		return
	}
	if len(u.URL) > s.cfg.MaxURL || len(u.Queue) > store.MaxQueueKey || len(u.Discriminator) > maxDiscriminator {
		writeError(w, http.StatusBadRequest, "too-long", "URL, queue or discriminator too long")
		return
	}
	entry, err := s.f.Lookup(r.Context(), u)
	if entry.Reason == frontier.ReasonCrawl {
		writeError(w, http.StatusBadRequest, string(entry.Reason), "no crawl can have this name")
		return
	}
	e := s.explain(u, &entry, err)
	switch {
	case e.Error != nil:
	case err == nil:
		e.Known = &knownURL{State: stateNames[entry.State], First: entry.URL, FirstBytes: bytesOf(entry.URL), Queue: entry.Entry.Queue,
			Due: entry.Due, Created: entry.Created, Expires: entry.Expires, Attempts: entry.Attempts}
	case !errors.Is(err, store.ErrNotFound):
		s.writeFault(w, "look up", err)
		return
	}
	writeJSON(w, http.StatusOK, e)
}

// explain tells how a URL is read, of what Lookup returned for it.
func (s *Server) explain(u frontier.Link, is *frontier.Entry, err error) explanation {
	p := s.profileOf(u.Crawl)
	e := explanation{Input: u.URL, Canonical: is.Canonical, Queue: is.Queue, Profile: p.String(), Changes: []change{}}
	if is.Reason != "" {
		e.Error = &faultDetail{string(is.Reason), "refused: " + string(is.Reason)}
		if cause := errors.Unwrap(err); cause != nil && !errors.Is(err, store.ErrInvalid) {
			e.Error.Message = cause.Error()
		}
		return e
	}
	e.Key = hex.EncodeToString(is.Key[:])
	steps, err := p.Explain(u.URL)
	if err == nil && steps.Canonical == is.Canonical { // not in an exact crawl
		for _, st := range steps.Steps {
			e.Changes = append(e.Changes, change{string(st.Rule), st.Before, st.After, st.Scope})
		}
	}
	return e
}

// profileOf is the profile that makes the keys of a crawl.
func (s *Server) profileOf(crawl string) *canon.Profile {
	if p := s.f.Profile(crawl); p.Name() != s.f.Profile("*").Name() {
		return p
	}
	return s.cfg.Profile()
}

// rulesBetween names the rules that changed either spelling, in order, each
// once.
func rulesBetween(p *canon.Profile, spellings ...string) []string {
	var names []string
	had := make(map[canon.Rule]bool)
	for _, raw := range spellings {
		e, err := p.Explain(raw)
		if err != nil {
			continue
		}
		for _, st := range e.Steps {
			if !had[st.Rule] {
				had[st.Rule] = true
				names = append(names, string(st.Rule))
			}
		}
	}
	return names
}

package synth

import (
	"strconv"
	"strings"
)

const (
	numParams   = 4 // further parameters of a host: two neutral, two meaningful
	paramValues = 5 // of each
)

// paramNames are names of both kinds, so that a name alone does not reveal its kind.
var paramNames = [...]string{"view", "style", "mode", "ref", "lang", "part", "rev", "from"}

// Param is a planted parameter of a host.
type Param struct {
	Host    string // as in the pages' URLs
	Name    string
	Neutral bool // it never changes the page
}

// param returns the i-th parameter of a host.
func (w *Web) param(host int32, i int) (name string, neutral bool) {
	first := w.hash(tagParam, uint64(host), 1<<62) % uint64(len(paramNames))
	return paramNames[(first+uint64(i)*3)%uint64(len(paramNames))], i < numParams/2
}

// Params lists the planted parameters of all hosts.
func (w *Web) Params() []Param {
	var all []Param
	for host := range w.size {
		t := w.text(page{host: int32(host)})
		_, name, _ := strings.Cut(string(t.appendAuthority(nil, Own)), "://")
		for i := range numParams {
			param, neutral := w.param(int32(host), i)
			all = append(all, Param{Host: name, Name: param, Neutral: neutral})
		}
	}
	return all
}

// spellParam appends the URL of a page with the i-th parameter of its host.
func (w *Web) spellParam(s *Spelling, p page, i int, h uint64) {
	name, neutral := w.param(p.host, i)
	value := h % paramValues
	s.URL = w.text(p).append(s.URL[:0], Own, 0)
	s.URL = append(append(append(s.URL, '&'), name...), '=')
	s.URL = strconv.AppendUint(s.URL, value, 10)
	s.Rule, s.Identity = NeutralParam, p.id()*perPage
	if !neutral {
		s.Rule = MeaningfulParam
		s.Identity += uint64(numRules) + uint64(i)*paramValues + value
	}
}

package server

import (
	"net/http"

	"github.com/firstseen/firstseen/internal/wire"
)

func (s *httpAPI) getTraps(w http.ResponseWriter, _ *http.Request) {
	if y := s.cfg.Yield; y == nil {
		writeNoYield(w)
	} else {
		writeJSON(w, http.StatusOK, wire.Traps{Shadow: y.Shadow(), URLs: y.URLs(), Templates: y.List()})
	}
}

// postTraps keeps a template from being lowered, or ends that.
func (s *httpAPI) postTraps(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Yield == nil {
		writeNoYield(w)
		return
	}
	body, ok := readJSON[wire.LiftRequest](s, w, r)
	if !ok {
		return
	}
	if body.Lifted == nil {
		writeError(w, http.StatusBadRequest, "invalid", "cannot lift a template; the body does not say whether it is lifted; send \"lifted\" with true or false")
		return
	}
	is, ok := s.cfg.Yield.Lift(body.Template, *body.Lifted)
	if !ok {
		writeError(w, http.StatusNotFound, "not-found", "cannot lift a template; none of its fetches was counted lately; GET /v1/traps and /v1/explain return the names")
		return
	}
	writeJSON(w, http.StatusOK, is)
}

func writeNoYield(w http.ResponseWriter) {
	writeError(w, http.StatusConflict, "off", "cannot report traps by yield; serve with --traps http,yield or http,yield-shadow")
}

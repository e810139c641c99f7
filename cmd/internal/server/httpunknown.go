package server

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// withQuery refuses unknown query parameters, like unknown fields of a body: a misspelled one
// would have no effect. Pages and /metrics take any, for caches and as Prometheus is configured.
func withQuery(r route) http.HandlerFunc {
	if r.need == Open || r.pattern == "GET /metrics" {
		return r.handler
	}
	var known []string
	if r.query != nil {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(r.query)) {
			known = append(known, f.Tag.Get("query"))
		}
	}
	return func(w http.ResponseWriter, req *http.Request) {
		if req.URL.RawQuery != "" {
			for _, name := range slices.Sorted(maps.Keys(req.URL.Query())) {
				if !slices.Contains(known, name) {
					want := "want none"
					if len(known) > 0 {
						want = "want " + strings.Join(known, ", ")
					}
					writeError(w, http.StatusBadRequest, "invalid", fmt.Sprintf("cannot call %s; got the query parameter %.40q; %s", r.pattern, name, want))
					return
				}
			}
		}
		r.handler(w, req)
	}
}

// refuseOthers makes a mux that has routes answer all other requests in JSON.
func (s *httpAPI) refuseOthers(mux *http.ServeMux, routes []route) {
	methods := map[string][]string{}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, s.observed("other", s.handled(path, func(w http.ResponseWriter, r *http.Request) {
			slices.Sort(allowed)
			list := strings.Join(allowed, ", ")
			w.Header().Set("Allow", list)
			writeError(w, http.StatusMethodNotAllowed, "method", fmt.Sprintf("cannot call %.40q; got %.20s; want %s", r.URL.Path, r.Method, list))
		})))
	}
	mux.HandleFunc("/", s.observed("other", s.handled("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "path", fmt.Sprintf("cannot call %.40q; no such path; /openapi.json lists them", r.URL.Path))
	})))
}

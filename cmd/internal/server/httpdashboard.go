package server

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed assets
var assets embed.FS

// policy lets the page load and call its own server and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The dashboard contains no data. It requests /v1/stats, which has the counters of /metrics, with the token that the
// user enters, and draws them in the browser. So it needs no build step, loads nothing from elsewhere, and agrees with
// the metrics.

// dashboard serves the page at / and its script and style beside it.
func dashboard() http.Handler {
	sub, err := fs.Sub(assets, "assets")
	if err != nil { // the directory is compiled in
		return http.NotFoundHandler()
	}
	files := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}

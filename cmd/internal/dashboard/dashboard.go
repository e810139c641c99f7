// Package dashboard is the page a person opens to see how a frontier is doing.
//
// The page holds no data: it asks the daemon's HTTP interface for the same
// counters that /metrics shows, with the token the person types in, and draws
// them itself. So there is nothing to build, nothing is loaded from elsewhere,
// and no second set of numbers to disagree with the first.
package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed assets
var assets embed.FS

// policy lets the page load and call its own server and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at / and its script and style beside it.
func Handler() http.Handler {
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

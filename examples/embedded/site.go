package main

import (
	"fmt"
	"net/http"
	"sync"
)

// site is a small web site with planted duplicates: every page links to the next two, each under
// four variants of its URL. It counts the pages it serves.
type site struct {
	pages int

	mu     sync.Mutex
	served map[string]int
}

func newSite(pages int) *site { return &site{pages: pages, served: make(map[string]int)} }

// ServeHTTP answers /page?n=N&lang=en with links to the pages 2N+1 and 2N+2.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		http.Redirect(w, r, "/page?n=0&lang=en", http.StatusFound)
		return
	}
	var n int
	if _, err := fmt.Sscan(r.URL.Query().Get("n"), &n); err != nil || n >= s.pages {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.served[fmt.Sprintf("page %d", n)]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	for next := 2*n + 1; next <= 2*n+2 && next < s.pages; next++ {
		fmt.Fprintf(w, `<a href="/page?n=%d&amp;lang=en">as it should be</a>`, next)
		fmt.Fprintf(w, `<a href="/page?lang=en&amp;n=%d#top">sorted otherwise, with a fragment</a>`, next)
		fmt.Fprintf(w, `<a href="/./x/../page?n=%d&amp;&amp;lang=en">dots and an empty parameter</a>`, next)
		fmt.Fprintf(w, `<a href="HTTP://%s/p%%61ge?n=%%3%d&amp;lang=en">escapes</a>`, r.Host, next)
	}
	fmt.Fprint(w, `<a href="mailto:webmaster@localhost">no page</a>`)
}

// counts returns how many pages were served, and how many of them twice or more.
func (s *site) counts() (pages, repeated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.served {
		pages++
		if n > 1 {
			repeated++
		}
	}
	return pages, repeated
}

package server

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

// stuck is a store whose list of keys waits.
type stuck struct {
	store.Store
	reading chan struct{}
}

// Keys waits for the end of its context.
func (s *stuck) Keys(ctx context.Context, _ string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		s.reading <- struct{}{}
		<-ctx.Done()
		yield(store.Key{}, ctx.Err())
	}
}

// TestExport exports by HTTP. Two exports are not written at a time, and a drain ends one.
func TestExport(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`+"\n"+`{"url":"http://a.com/2"}`)
	for path, want := range map[string]crawlfile.Counts{"/v1/export": {Waiting: 2, Keys: 2}, "/v1/export?keys": {Keys: 2}} {
		_, body, _ := strings.Cut(s.request(t, "GET", path, ""), "\n")
		if got, err := crawlfile.Scan(strings.NewReader(body), nil); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", path, got, err, want)
		}
	}
	if got := s.request(t, "GET", "/v1/export?crawl=none", ""); !strings.HasPrefix(got, "404") || !strings.Contains(got, `\"none\"`) {
		t.Errorf("got %s; want 404", got)
	}
	if got := s.request(t, "GET", "/v1/export?crawl=*", ""); !strings.HasPrefix(got, "400") {
		t.Errorf("got %s; want 400", got)
	}
	slow := &stuck{s.store, make(chan struct{})}
	s = startBefore(t, canon.Qiita(), Config{}, func(s *Server) { s.cfg.Exports = slow })
	first := make(chan string, 1)
	go func() {
		resp, err := http.Get(s.url("/v1/export"))
		if err != nil {
			first <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // the error is in the text that is asserted
		first <- resp.Status + string(text)
	}()
	<-slow.reading
	if got := s.request(t, "GET", "/v1/export", ""); !strings.HasPrefix(got, "409") || !strings.Contains(got, "busy") {
		t.Errorf("got %s; want 409", got)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if got := <-first; !strings.HasPrefix(got, "503") {
		t.Errorf("a drain: got %s; want 503", got)
	}
}

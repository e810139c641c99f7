package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
)

// Exported is which crawl an export is of. It is in the header ExportHeader of the answer, as
// JSON with percent escapes.
type Exported struct {
	Crawl frontier.StoredCrawl `json:"crawl"`
	Store store.Identity       `json:"store"` // of the whole store
}

// ExportHeader has an Exported.
const ExportHeader = "Firstseen-Crawl"

// getExport writes a crawl as a crawl file, or its keys as a key file. Only one export is written
// at a time, because it reads the whole crawl and has a temporary file.
func (s *httpAPI) getExport(w http.ResponseWriter, r *http.Request) {
	st := s.cfg.Exports
	if st == nil {
		writeError(w, http.StatusConflict, "no-exports", "cannot export: the daemon has no store to export from")
		return
	}
	select {
	case s.exporting <- struct{}{}:
		defer func() { <-s.exporting }()
	default:
		writeError(w, http.StatusConflict, "busy", "cannot export while another export is written; try again when it is complete")
		return
	}
	crawl, err := oneCrawl(r.URL.Query().Get("crawl"))
	var from frontier.StoredCrawl
	if err == nil {
		from, err = s.f.FindCrawl(r.Context(), st, crawl)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(Exported{from, st.Identity()})
	}
	if err != nil {
		s.writeFault(w, "export", err)
		return
	}
	w.Header().Set(ExportHeader, url.PathEscape(string(text)))
	w.Header().Set("Content-Type", "application/octet-stream")
	s.stream(w, r, "export crawl "+from.Name, func(ctx context.Context, w io.Writer) error {
		if r.URL.Query().Has("keys") {
			_, err := crawlfile.ExportKeys(ctx, w, st, from.Stored, from.Identity)
			return err
		}
		_, err := crawlfile.Export(ctx, w, st, from.Stored, from.Identity)
		return err
	})
}

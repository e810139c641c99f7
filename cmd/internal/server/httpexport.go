package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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
	answer := &begun{w: w}
	err = s.export(r.Context(), answer, from, r.URL.Query().Has("keys"))
	switch {
	case err == nil:
	case !answer.yes:
		w.Header().Del(ExportHeader)
		s.writeFault(w, "export", err)
	default:
		if r.Context().Err() == nil {
			s.log.Error("an export ended early", "crawl", from.Name, "error", err)
		}
		panic(http.ErrAbortHandler) // so that the client gets no whole answer
	}
}

// export writes until it is complete, or the server drains.
func (s *httpAPI) export(ctx context.Context, w io.Writer, from frontier.StoredCrawl, keysAlone bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.draining:
			cancel(errDraining)
		case <-ended:
		}
	}()
	b := bufio.NewWriterSize(w, answerPiece)
	var err error
	if keysAlone {
		_, err = crawlfile.ExportKeys(ctx, b, s.cfg.Exports, from.Stored, from.Identity)
	} else {
		_, err = crawlfile.Export(ctx, b, s.cfg.Exports, from.Stored, from.Identity)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return errors.Join(err, b.Flush())
}

// begun notes whether anything was written.
type begun struct {
	w   io.Writer
	yes bool
}

// Write implements io.Writer.
func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.w.Write(p)
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

// importLine is the answer to a line of POST /v1/import.
type importLine struct {
	ID     string      `json:"ID"`
	Status string      `json:"status"` // OK, SKIPPED or FAIL
	Error  *wire.Fault `json:"error,omitempty"`
}

// postImport puts items in the JSON form of Protocol Buffers, one a line: what
// URLFrontier's DumpURLs writes.
func (s *Server) postImport(w http.ResponseWriter, r *http.Request) {
	s.streamLines(w, r, s.importLines)
}

func (s *Server) importLines(ctx context.Context, lines []bodyLine, out *bytes.Buffer) {
	items := make([]*putItem, len(lines))
	answers := make([]importLine, len(lines))
	for i := range lines {
		m, fault := s.parseItem(&lines[i])
		items[i], answers[i].Error = s.itemOf(m), fault
	}
	for i, st := range s.putItems(ctx, items) {
		answers[i].ID, answers[i].Status = items[i].id, st.String()
		b, err := json.Marshal(answers[i])
		if err != nil { // no value of this type fails
			continue
		}
		out.Write(append(b, '\n'))
	}
}

// protoError returns the error of a line, with an example of a URLItem. protojson writes "proto:"
// before its errors, with a blank that differs from build to build.
func protoError(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:")) +
		`; want a URLItem such as {"discovered":{"info":{"url":"http://example.org/","key":"example.org"}}}`
}

// parseItem reads a line; one that can't be read is an empty item, which is SKIPPED.
func (s *Server) parseItem(line *bodyLine) (*frontierpb.URLItem, *wire.Fault) {
	if fault := line.fault(s.maxLine(), "; a URLItem cannot have it: offer it to /v1/urls, as url_bytes in base64"); fault != nil {
		return &frontierpb.URLItem{}, fault
	}
	var m frontierpb.URLItem
	if err := protojson.Unmarshal(line.text, &m); err != nil {
		return &frontierpb.URLItem{}, &wire.Fault{Code: "json", Message: protoError(err)}
	}
	return &m, nil
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// importLine is the answer to a line of POST /v1/import.
type importLine struct {
	ID     string       `json:"ID"`
	Status string       `json:"status"` // OK, SKIPPED or FAIL
	Error  *faultDetail `json:"error,omitempty"`
}

// postImport puts items in the JSON form of Protocol Buffers, one a line: what
// URLFrontier's DumpURLs writes.
func (s *Server) postImport(w http.ResponseWriter, r *http.Request) {
	s.streamLines(w, r, s.importLines)
}

func (s *Server) importLines(ctx context.Context, lines [][]byte, out *bytes.Buffer) {
	items := make([]*putItem, len(lines))
	answers := make([]importLine, len(lines))
	for i, line := range lines {
		var m frontierpb.URLItem
		if err := protojson.Unmarshal(line, &m); err != nil {
			m.Reset() // is SKIPPED
			answers[i].Error = &faultDetail{"json", "not a URLItem in the JSON form of Protocol Buffers"}
		}
		items[i] = s.itemOf(&m)
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

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

// postImport puts items in the JSON form of Protocol Buffers, one a line: what
// URLFrontier's DumpURLs writes.
func (s *httpAPI) postImport(w http.ResponseWriter, r *http.Request) {
	s.streamLines(w, r, s.importLines)
}

func (s *httpAPI) importLines(ctx context.Context, lines []bodyLine, out *bytes.Buffer) {
	items := make([]*putItem, len(lines))
	reader := &messageReader{s: s.service}
	answers := make([]wire.ImportLine, len(lines))
	for i := range lines {
		items[i] = &putItem{}
		reader.raw, answers[i].Error = s.parseItem(&lines[i])
		if err := reader.openItem(items[i]); err != nil { // not of what parseItem returns
			items[i] = &putItem{}
		}
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

// parseItem returns the item of a line as a message; of one that can't be read an empty one, which is SKIPPED.
func (s *httpAPI) parseItem(line *bodyLine) ([]byte, *wire.Fault) {
	if fault := line.fault(s.maxLine(), "; a URLItem cannot have it: offer it to /v1/urls, as url_bytes in base64"); fault != nil {
		return nil, fault
	}
	var m frontierpb.URLItem
	if err := protojson.Unmarshal(line.text, &m); err != nil {
		return nil, &wire.Fault{Code: "json", Message: protoError(err)}
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	if err != nil {
		return nil, &wire.Fault{Code: "json", Message: protoError(err)}
	}
	return raw, nil
}

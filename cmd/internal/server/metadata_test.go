package server

import (
	"bytes"
	"testing"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// TestMetadataOfLines: metadata is stored as the same bytes whether it came in a line or in
// a message.
func TestMetadataOfLines(t *testing.T) {
	s := newService(Config{MaxMetadata: 1 << 10}, guard{})
	for _, m := range []map[string][]string{nil, {}, {"": nil}, {"b": {"1"}, "a": {"", "ü", "x"}, "c": {}}} {
		message := map[string]*frontierpb.StringList{}
		for name, values := range m {
			message[name] = &frontierpb.StringList{Values: values}
		}
		want, ok := s.packMeta(message)
		got := AppendMetadata(nil, m)
		if !ok || !bytes.Equal(got, want) || !isMetadata(got) {
			t.Errorf("%v: got %x; want %x", m, got, want)
		}
	}
}

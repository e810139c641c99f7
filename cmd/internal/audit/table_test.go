package audit

import (
	"strconv"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := newTable()
	text := func(i int) string { return strings.Repeat("x", i%700) + strconv.Itoa(i) }
	const n = 100_000 // more than one chunk
	for round := range 3 {
		if round == 2 {
			table.drop() // as while there are no adds
		}
		for i := range n {
			id, err := table.add(text(i))
			if err != nil || id != uint32(i) {
				t.Fatalf("round %d: got number %d, %v for string %d", round, id, err, i)
			}
		}
	}
	for i := range n {
		if got := string(table.at(uint32(i))); got != text(i) {
			t.Fatalf("got %q; want string %d", got, i)
		}
	}
	if table.len() != n || len(table.chunks) < 2 {
		t.Errorf("got %d strings in %d chunks; want %d in more than one", table.len(), len(table.chunks), n)
	}
	if _, err := table.add(strings.Repeat("x", 1<<chunkBits)); err == nil {
		t.Error("kept a string as long as a chunk; want an error")
	}
	if id, err := table.add(""); err != nil || string(table.at(id)) != "" {
		t.Errorf("got %d, %v for the empty string", id, err)
	}
}

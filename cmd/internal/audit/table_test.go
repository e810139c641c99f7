package audit

import (
	"strconv"
	"testing"
)

func TestTable(t *testing.T) {
	table := newTable()
	const n = 1000
	for round := range 2 {
		for i := range n {
			text := []byte(strconv.Itoa(i))
			id, err := table.add(string(text))
			if err != nil || id != uint32(i) || string(table.at(id)) != string(text) {
				t.Fatalf("round %d: got number %d, %v for string %d", round, id, err, i)
			}
		}
	}
	if table.len() != n {
		t.Errorf("got %d strings; want %d", table.len(), n)
	}
}

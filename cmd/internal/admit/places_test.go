package admit

import (
	"slices"
	"testing"
)

// guests take places and record which of them were ended.
type guests struct {
	places *Places
	ended  []int
}

func (g *guests) enter(c Client, name int) *Place {
	return g.places.Enter(c, func() { g.ended = append(g.ended, name) })
}

// TestNewcomersEndTheOldest fills the places from many addresses.
func TestNewcomersEndTheOldest(t *testing.T) {
	g := &guests{places: NewPlaces(4, 4)}
	for i := range 10 {
		if g.enter(token(byte(i)), i) == nil {
			t.Fatalf("got no place for guest %d", i)
		}
	}
	if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(g.ended, want) || g.places.Open() != 4 || g.places.Ended() != 6 {
		t.Errorf("got %v ended, %d open; want %v, 4", g.ended, g.places.Open(), want)
	}
}

// TestAClientEndsItsOwn has one client want all places: others keep theirs.
func TestAClientEndsItsOwn(t *testing.T) {
	g := &guests{places: NewPlaces(16, 16)}
	g.enter(token(1), 1)
	g.enter(token(2), 2)
	for i := range 100 {
		g.enter(token(3), 100+i)
	}
	if slices.Contains(g.ended, 1) || slices.Contains(g.ended, 2) {
		t.Errorf("got %v ended; want none of the other clients", g.ended)
	}
	if n := g.places.Open(); n > 14 {
		t.Errorf("got %d open; want some left", n)
	}
}

// TestWhatIsKeptStays checks that kept things are never ended, and that there is no place
// where all of them are kept.
func TestWhatIsKeptStays(t *testing.T) {
	g := &guests{places: NewPlaces(4, 2)}
	var kept []*Place
	for i := range 4 {
		place := g.enter(token(byte(i)), i)
		place.Keep()
		kept = append(kept, place)
	}
	if g.enter(token(9), 9) != nil || len(g.ended) != 0 {
		t.Errorf("got a place, %v ended; want none", g.ended)
	}
	kept[0].Leave()
	kept[0].Leave()
	loose := g.enter(token(9), 9)
	if loose == nil || g.places.Open() != 4 {
		t.Fatalf("got %v, %d open; want the place that became free", loose, g.places.Open())
	}
	kept[1].Leave()
	kept[2].Leave()
	for i := 10; i < 13; i++ { // 2 of 3 places are for guests that aren't kept
		g.enter(token(byte(i)), i)
	}
	if want := []int{9, 10}; !slices.Equal(g.ended, want) || g.places.Open() != 3 {
		t.Errorf("got %v ended, %d open; want %v, 3", g.ended, g.places.Open(), want)
	}
	loose.Leave() // of one that was ended
	if g.places.Open() != 3 {
		t.Errorf("got %d open; want 3", g.places.Open())
	}
}

package replay

import (
	"cmp"
	"slices"
)

// A Point is what happened in one stretch of a stream: events, those that were exact
// repeats, and those that were unique.
type Point struct {
	At     int64 `json:"at"` // where the stretch begins: an event's number, or seconds since 1970
	Events int64 `json:"events"`
	Exact  int64 `json:"exact"`
	Unique int64 `json:"unique"`
}

// A Series is a stream cut in stretches of one width, in order.
type Series struct {
	Width  int64   `json:"width"`
	Points []Point `json:"points"`
}

// A series has at most so many stretches in which something happened, and is so many
// stretches long at most; beyond that they become twice as wide.
const (
	mostPoints = 240
	mostLength = 480
)

// series collects a Series whose length isn't known before. One goroutine uses it.
type series struct {
	width  int64
	points map[int64]*Point
	key    int64 // of last
	last   *Point
	low    int64 // the first and last stretch
	high   int64
}

func newSeries(width int64) *series { return &series{width: width, points: map[int64]*Point{}} }

// at returns the stretch that x is in.
func (s *series) at(x int64) *Point {
	key := x / s.width
	if s.last != nil && key == s.key {
		return s.last
	}
	p := s.points[key]
	if p == nil {
		if len(s.points) == 0 {
			s.low, s.high = key, key
		}
		s.low, s.high = min(s.low, key), max(s.high, key)
		s.points[key] = &Point{}
		for len(s.points) > mostPoints || s.high-s.low >= mostLength {
			s.widen()
		}
		key = x / s.width
		p = s.points[key]
	}
	s.key, s.last = key, p
	return p
}

// widen merges stretches in pairs.
func (s *series) widen() {
	s.width *= 2
	wide := make(map[int64]*Point, len(s.points)/2+1)
	for key, p := range s.points {
		if q := wide[key/2]; q != nil {
			q.add(*p)
		} else {
			wide[key/2] = p
		}
	}
	s.points, s.last = wide, nil
	s.low, s.high = s.low/2, s.high/2
}

func (p *Point) add(q Point) {
	p.Events += q.Events
	p.Exact += q.Exact
	p.Unique += q.Unique
}

// merged is what two stages saw of one stream.
func merged(a, b *series) Series {
	for a.width < b.width {
		a.widen()
	}
	for b.width < a.width {
		b.widen()
	}
	for key, p := range b.points {
		a.at(key * a.width).add(*p)
	}
	out := Series{Width: a.width, Points: make([]Point, 0, len(a.points))}
	for key, p := range a.points {
		p.At = key * a.width
		out.Points = append(out.Points, *p)
	}
	slices.SortFunc(out.Points, func(p, q Point) int { return cmp.Compare(p.At, q.At) })
	return out
}

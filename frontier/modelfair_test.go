package frontier

import "time"

// race compares two queues of one crawl from the moment on at which both may be
// served, for as long as both may all the time: then their turns are as their
// weights, give or take what a rotation owes.
type race struct {
	a, b           *modelQueue
	turnsA, turnsB int
}

func (q *modelQueue) share() int { return max(q.weight, 1) }

// shares is how many turns a round of all queues has.
func (m *model) shares() (n int) {
	for _, q := range m.queues {
		n += q.share()
	}
	return n
}

// fair reports whether neither is further ahead than two turns and a half of
// its own: one that it had coming, one for a tie, and what can't be divided.
func (r *race) fair() bool {
	a, b := r.turnsA*r.b.share(), r.turnsB*r.a.share() // in units of one share of both
	return 2*(a-b) <= 5*max(r.a.share(), r.b.share()) && 2*(b-a) <= 5*max(r.a.share(), r.b.share())
}

// race counts the turns that queues got at once, begins the races that can begin
// and ends those of queues that can't be served any more.
func (m *model) race(served []*modelQueue, now time.Time) error {
	for _, r := range m.races {
		for _, q := range served {
			if q == r.a {
				r.turnsA++
			}
			if q == r.b {
				r.turnsB++
			}
		}
		if !r.fair() {
			return breaks(invWeights, "queue %s of weight %d got %d turns while %s of weight %d got %d",
				r.a.host, r.a.share(), r.turnsA, r.b.host, r.b.share(), r.turnsB)
		}
	}
	m.endRaces(now)
	m.beginRaces(now)
	return nil
}

// endRaces ends the races of queues that can't be served.
func (m *model) endRaces(now time.Time) {
	kept := m.races[:0]
	for _, r := range m.races {
		if m.gate(r.a, now) == "" && m.gate(r.b, now) == "" {
			kept = append(kept, r)
		}
	}
	m.races = kept
}

func (m *model) beginRaces(now time.Time) {
	for i, a := range m.queues {
		for _, b := range m.queues[i+1:] {
			if a.crawl == b.crawl && !a.owes && !b.owes && !m.racing(a, b) && m.gate(a, now) == "" && m.gate(b, now) == "" {
				m.races = append(m.races, &race{a: a, b: b})
			}
		}
	}
}

func (m *model) racing(a, b *modelQueue) bool {
	for _, r := range m.races {
		if r.a == a && r.b == b {
			return true
		}
	}
	return false
}

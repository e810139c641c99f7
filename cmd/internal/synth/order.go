package synth

// page names a page of the web by its host's rank and its number there.
type page struct {
	host int32
	num  int64
}

// id is the page's number among all that could be.
func (p page) id() uint64 { return uint64(p.host)<<32 | uint64(p.num) }

func (w *Web) windowHosts(i int) []int32 {
	lo := i * window
	return w.order[lo:min(lo+window, len(w.order))]
}

func (w *Web) countWindows() {
	n := (len(w.order) + window - 1) / window
	w.first = make([]int64, n+1)
	for i := range n {
		w.first[i+1] = w.first[i]
		for _, h := range w.windowHosts(i) {
			w.first[i+1] += w.size[h]
		}
	}
}

// cursor walks the pages in the order they are crawled: window after window,
// in each a quantum of every host in turn until all are done.
type cursor struct {
	w      *Web
	window int
	round  int64 // quanta every host of the window has had
	turn   int   // whose turn it is
	given  int64 // pages of this quantum that were given
}

// afterRounds is the number of pages a window has given after r full rounds.
func (w *Web) afterRounds(win int, r int64) (n int64) {
	for _, h := range w.windowHosts(win) {
		n += min(w.size[h], r*quantum)
	}
	return n
}

// quantum is how many pages of the host come in this round.
func (c *cursor) quantum(h int32) int64 {
	return max(0, min(c.w.size[h]-c.round*quantum, quantum))
}

// next returns the next page, or false after the last.
func (c *cursor) next() (page, bool) {
	for c.window < len(c.w.first)-1 {
		hosts := c.w.windowHosts(c.window)
		if c.turn == len(hosts) {
			c.turn, c.round = 0, c.round+1
			if c.w.afterRounds(c.window, c.round) == c.w.first[c.window+1]-c.w.first[c.window] {
				c.window, c.round = c.window+1, 0
			}
			continue
		}
		h := hosts[c.turn]
		if c.given < c.quantum(h) {
			c.given++
			return page{h, c.round*quantum + c.given - 1}, true
		}
		c.turn, c.given = c.turn+1, 0
	}
	return page{}, false
}

package captures

// waiting is how many offers wait for the disk.
const waiting = 4096

// Offer is Add for callers that must not wait. A capture that finds no room, or cannot be
// written, is dropped and counted ([Stats]). The sample must not be closed.
func (s *Sample) Offer(all ...Capture) {
	for _, c := range all {
		select {
		case s.offers <- c:
		default:
			s.dropped.Add(1)
		}
	}
}

func (s *Sample) takeOffers() {
	defer close(s.stopped)
	for c := range s.offers {
		batch := append(make([]Capture, 0, len(s.offers)+1), c)
		for range len(s.offers) {
			if c, ok := <-s.offers; ok {
				batch = append(batch, c)
			}
		}
		s.writing.Lock()
		err := s.addAll(batch)
		s.writing.Unlock()
		if err != nil {
			s.dropped.Add(int64(len(batch)))
		}
	}
}

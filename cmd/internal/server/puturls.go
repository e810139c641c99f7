package server

import (
	"cmp"
	"context"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

const (
	defaultCrawl = store.DefaultCrawl
	// putWindow is how many items of a PutURLs stream wait for a commit.
	putWindow = 1024
	// batchWindow is how many batches of a PutDiscovered stream do.
	batchWindow = 16
)

// PutURLs implements the call: a batch is what arrived during the commit
// before.
func (s *Server) PutURLs(stream frontierpb.URLFrontier_PutURLsServer) error {
	s.count.putCalls.Inc()
	return pump(s, stream.Context(), putWindow, stream.Recv, sizeOfItem, func(items []*frontierpb.URLItem) error {
		acks := s.putItems(stream.Context(), items)
		for i := range acks {
			if err := stream.Send(&acks[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// perMessage is about what a message costs in memory besides its texts.
const perMessage = 128

func sizeOfItem(it *frontierpb.URLItem) int {
	info := it.GetDiscovered().GetInfo()
	if info == nil {
		info = it.GetKnown().GetInfo()
	}
	return len(it.GetID()) + sizeOfInfo(info)
}

func sizeOfInfo(info *frontierpb.URLInfo) int {
	n := perMessage + len(info.GetUrl()) + len(info.GetKey()) + len(info.GetCrawlID())
	for name, list := range info.GetMetadata() {
		n += perMessage + len(name)
		for _, v := range list.GetValues() {
			n += 16 + len(v)
		}
	}
	return n
}

func sizeOfBatch(b *frontierpb.DiscoveredBatch) int {
	n := perMessage + len(b.GetID())
	for _, info := range b.GetItems() {
		n += sizeOfInfo(info)
	}
	return n
}

// putItems commits items and returns their acks, in order. Within a batch,
// discovered URLs go first: a client that states a result and offers the same
// URL again in one breath finds it completed either way.
func (s *Server) putItems(ctx context.Context, items []*frontierpb.URLItem) []frontierpb.AckMessage {
	acks := make([]frontierpb.AckMessage, len(items))
	var adds addList
	var puts putList
	for i, item := range items {
		acks[i].Status = frontierpb.AckMessage_SKIPPED
		known := item.GetKnown()
		info := item.GetDiscovered().GetInfo()
		if known != nil {
			info = known.GetInfo()
		}
		acks[i].ID = cmp.Or(item.GetID(), info.GetUrl())
		u, ok := s.urlOf(info)
		switch {
		case !ok:
			s.countUnread(known == nil)
		case known == nil:
			adds.add(u, i)
		default:
			puts.add(u, known.RefetchableFromDate, i)
		}
	}
	s.commitAdds(ctx, &adds, func(i int, st frontierpb.AckMessage_Status) { acks[i].Status = st })
	s.commitPuts(ctx, &puts, func(i int, st frontierpb.AckMessage_Status) { acks[i].Status = st })
	return acks
}

// countUnread counts an item that never reached the frontier.
func (s *Server) countUnread(discovered bool) {
	s.count.putURLs.Inc()
	s.count.refused.Inc()
	s.count.reasons.WithLabelValues("unreadable").Inc()
	if discovered {
		s.count.discoveredURLs.Inc()
	} else {
		s.count.knownURLs.Inc()
	}
}

// addList and putList are what goes to the frontier, and the place in the
// message of each.
type addList struct {
	urls   []frontier.URL
	places []int
}

func (l *addList) add(u frontier.URL, place int) {
	l.urls, l.places = append(l.urls, u), append(l.places, place)
}

type putList struct {
	known  []frontier.Known
	places []int
}

func (l *putList) add(u frontier.URL, date uint64, place int) {
	k := frontier.Known{URL: u}
	if date != 0 {
		k.Next = dueOf(date)
	}
	l.known, l.places = append(l.known, k), append(l.places, place)
}

func (s *Server) commitAdds(ctx context.Context, l *addList, answer func(int, frontierpb.AckMessage_Status)) {
	results, err := s.guardedAdd(ctx, l.urls)
	for i, place := range l.places {
		switch {
		case err != nil:
			answer(place, frontierpb.AckMessage_FAIL)
		case results[i].Status == frontier.New:
			answer(place, frontierpb.AckMessage_OK)
		default:
			answer(place, frontierpb.AckMessage_SKIPPED)
		}
	}
}

func (s *Server) commitPuts(ctx context.Context, l *putList, answer func(int, frontierpb.AckMessage_Status)) {
	var results []frontier.Result
	err := s.roomFor(len(l.known))
	if err == nil {
		results, err = s.put(ctx, l.known)
	}
	for i, place := range l.places {
		switch {
		case err != nil:
			answer(place, frontierpb.AckMessage_FAIL)
		case results[i].Status == frontier.Refused:
			answer(place, frontierpb.AckMessage_SKIPPED)
		default:
			answer(place, frontierpb.AckMessage_OK)
		}
	}
}

// guardedAdd is add where the disk has room.
func (s *Server) guardedAdd(ctx context.Context, urls []frontier.URL) ([]frontier.Result, error) {
	if err := s.roomFor(len(urls)); err != nil {
		return nil, err
	}
	return s.add(ctx, urls)
}

// PutDiscovered implements the call. Batches that wait together are committed
// together, and answered each on its own.
func (s *Server) PutDiscovered(stream frontierpb.URLFrontier_PutDiscoveredServer) error {
	s.count.batchCalls.Inc()
	return pump(s, stream.Context(), batchWindow, stream.Recv, sizeOfBatch, func(batches []*frontierpb.DiscoveredBatch) error {
		for _, ack := range s.putBatches(stream.Context(), batches) {
			if err := stream.Send(ack); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Server) putBatches(ctx context.Context, batches []*frontierpb.DiscoveredBatch) []*frontierpb.BatchAck {
	n := 0
	for _, b := range batches {
		n += len(b.Items)
	}
	statuses := make([]frontierpb.AckMessage_Status, n)
	acks := make([]*frontierpb.BatchAck, len(batches))
	adds := addList{urls: make([]frontier.URL, 0, n), places: make([]int, 0, n)}
	at := 0
	for i, b := range batches {
		end := at + len(b.Items)
		acks[i] = &frontierpb.BatchAck{ID: b.ID, Statuses: statuses[at:end:end]}
		for _, info := range b.Items {
			statuses[at] = frontierpb.AckMessage_SKIPPED
			if u, ok := s.urlOf(info); ok {
				adds.add(u, at)
			} else {
				s.countUnread(true)
			}
			at++
		}
	}
	s.commitAdds(ctx, &adds, func(i int, st frontierpb.AckMessage_Status) { statuses[i] = st })
	return acks
}

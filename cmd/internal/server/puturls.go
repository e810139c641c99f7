package server

import (
	"context"
	"slices"

	"google.golang.org/grpc"

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

// PutURLs implements the call. A batch consists of the items that arrived during the
// commit before. The batches of a stream are committed in order, since two statements about one URL
// must keep their order.
func (s *grpcAPI) PutURLs(stream frontierpb.URLFrontier_PutURLsServer) error {
	s.count.putCalls.Inc()
	commit := func(items []*putItem) answers {
		statuses := s.putItems(stream.Context(), items)
		return encodeAll(len(items), 16, func(dst []byte, i int) []byte { return appendAck(dst, items[i].id, statuses[i]) })
	}
	return pump(s.service, stream.Context(), s.itemsFrom(stream), putWindow, 1, commit, sendAll(stream))
}

// itemsFrom receives the messages of a PutURLs stream.
func (s *grpcAPI) itemsFrom(stream grpc.ServerStream) source[*putItem] {
	var slab []putItem
	reader := &messageReader{s: s.service}
	recv := func() (*putItem, error) {
		if len(slab) == 0 {
			slab = make([]putItem, 32)
		}
		it := &slab[0]
		it.from = reader
		if err := stream.RecvMsg(it); err != nil {
			return nil, err
		}
		slab = slab[1:]
		return it, nil
	}
	return source[*putItem]{recv, func(it *putItem) int { return it.size }, reader.openItem}
}

// sendAll sends messages on a stream. A client has the server's patience to take all of them.
func sendAll(stream grpc.ServerStream) func(answers) error {
	return func(messages answers) error {
		if c := callOf(stream.Context()); c.sends() {
			defer c.sent()
		}
		for i := range messages {
			if err := stream.SendMsg(&messages[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// putItems commits items and returns their statuses, in order. Within a batch,
// discovered URLs go first: a client that states a result and offers the same
// URL again in one batch finds it completed either way.
func (s *service) putItems(ctx context.Context, items []*putItem) []frontierpb.AckMessage_Status {
	statuses := make([]frontierpb.AckMessage_Status, len(items))
	adds := s.addList(len(items))
	var puts putList
	for i, it := range items {
		statuses[i] = frontierpb.AckMessage_SKIPPED
		switch {
		case it.known && s.takesResult(&it.url):
			puts.add(it.url, it.date, i)
			s.tellFetch(&puts.known[len(puts.known)-1])
			s.boundMeta(&puts.known[len(puts.known)-1])
		case !it.ok:
			s.countUnread(!it.known)
		default:
			adds.add(it.url, i)
		}
	}
	added, err := s.commitAdds(ctx, adds, statuses)
	skipStated(adds, added, &puts, s.commitPuts(ctx, &puts, statuses), statuses)
	s.freeAdds(adds, err)
	return statuses
}

// skipStated makes SKIPPED of discovered URLs whose result was stated before them in the same
// batch: they were added first, and so were new.
func skipStated(adds *addList, added []frontier.Result, puts *putList, put []frontier.Result, statuses []frontierpb.AckMessage_Status) {
	if len(added) == 0 || len(put) == 0 {
		return
	}
	type page struct {
		crawl string
		key   store.Key
	}
	stated := make(map[page]int, len(put)) // the place of the first
	for i := len(put) - 1; i >= 0; i-- {
		if place := puts.places[i]; statuses[place] == frontierpb.AckMessage_OK {
			stated[page{puts.known[i].Crawl, put[i].Key}] = place
		}
	}
	for i, place := range adds.places[:len(added)] { // fewer if a later turn failed
		if first, ok := stated[page{adds.urls[i].Crawl, added[i].Key}]; ok && first < place {
			statuses[place] = frontierpb.AckMessage_SKIPPED
		}
	}
}

// takesResult is takes for a URL whose result is stated, which must not be lost for its
// metadata.
func (s *service) takesResult(u *frontier.Link) bool {
	bare := *u
	bare.Meta = nil
	return s.takes(&bare)
}

// boundMeta drops metadata that is larger than it may be.
func (s *service) boundMeta(k *frontier.Known) {
	if len(k.Meta) > s.cfg.MaxMetadata {
		k.Meta = nil
		s.count.metaDropped.Inc()
	}
}

// countUnread counts an item that never reached the frontier.
func (s *service) countUnread(discovered bool) {
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
	urls   []frontier.Link
	places []int
}

// addList returns an empty list with room for n URLs. freeAdds takes it back.
func (s *service) addList(n int) *addList {
	l, ok := s.addLists.Get().(*addList)
	if !ok {
		l = &addList{}
	}
	l.urls, l.places = slices.Grow(l.urls, n), slices.Grow(l.places, n)
	return l
}

// free empties a list that is no longer read.
func (l *addList) free() {
	clear(l.urls)
	l.urls, l.places = l.urls[:0], l.places[:0]
}

// add adds a URL. The caller chooses whether it needs the first-seen URL.
func (l *addList) add(u frontier.Link, place int) {
	l.urls, l.places = append(l.urls, u), append(l.places, place)
}

type putList struct {
	known  []frontier.Known
	places []int
}

func (l *putList) add(u frontier.Link, date uint64, place int) {
	k := frontier.Known{Link: u}
	if date != 0 {
		k.Next = dueOf(date)
	}
	l.known, l.places = append(l.known, k), append(l.places, place)
}

// commitAdds adds URLs and sets their statuses: FAIL for those without a result, since a turn
// failed. freeAdds must follow.
func (s *service) commitAdds(ctx context.Context, l *addList, statuses []frontierpb.AckMessage_Status) ([]frontier.Result, error) {
	for i := range l.urls {
		l.urls[i].SkipTraps = !s.cfg.TrapsOverGRPC
		l.urls[i].SkipFirst = true // the protocol has no place for it
	}
	results, err := inTurns(ctx, s.gate, l.urls, s.guardedAdd)
	for i, place := range l.places {
		switch {
		case i >= len(results):
			statuses[place] = frontierpb.AckMessage_FAIL
		case results[i].Status == frontier.StatusNew:
			statuses[place] = frontierpb.AckMessage_OK
		case failed(&results[i]):
			statuses[place] = frontierpb.AckMessage_FAIL
		default:
			statuses[place] = frontierpb.AckMessage_SKIPPED
		}
	}
	return results, err
}

// failed reports whether a URL must be answered with FAIL: SKIPPED would mean that it is known.
func failed(r *frontier.Result) bool {
	return r.Reason == reasonForbidden || r.Reason == frontier.ReasonDamaged
}

// freeAdds takes a list back, unless the store may still be reading the URLs after an error.
func (s *service) freeAdds(l *addList, err error) {
	if err == nil {
		l.free()
		s.addLists.Put(l)
	}
}

// commitPuts states results and sets statuses as commitAdds does.
func (s *service) commitPuts(ctx context.Context, l *putList, statuses []frontierpb.AckMessage_Status) []frontier.Result {
	results, _ := inTurns(ctx, s.gate, l.known, s.guardedPut) // put logs errors
	for i, place := range l.places {
		switch {
		case i >= len(results):
			statuses[place] = frontierpb.AckMessage_FAIL
		case failed(&results[i]):
			statuses[place] = frontierpb.AckMessage_FAIL
		case results[i].Status == frontier.StatusRefused:
			statuses[place] = frontierpb.AckMessage_SKIPPED
		default:
			statuses[place] = frontierpb.AckMessage_OK
		}
	}
	return results
}

// guardedAdd is add where the disk has room.
func (s *service) guardedAdd(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	if err := s.roomFor(len(urls)); err != nil {
		return nil, err
	}
	return s.add(ctx, urls)
}

// guardedPut is put where the disk has room.
func (s *service) guardedPut(ctx context.Context, known []frontier.Known) ([]frontier.Result, error) {
	if err := s.roomFor(len(known)); err != nil {
		return nil, err
	}
	return s.put(ctx, known)
}

// batchesAtOnce is how many commits of a PutDiscovered stream are under way:
// while the disk syncs one, the URLs of the next are read and canonicalized.
// Batches state nothing that could change places.
const batchesAtOnce = 3

// PutDiscovered implements the call. Batches that wait together are committed
// together, and answered each on its own, in the order they came in.
func (s *grpcAPI) PutDiscovered(stream frontierpb.URLFrontier_PutDiscoveredServer) error {
	s.count.batchCalls.Inc()
	reader := &messageReader{s: s.service}
	recv := func() (*putBatch, error) {
		b := &putBatch{from: reader}
		return b, stream.RecvMsg(b)
	}
	commit := func(batches []*putBatch) answers { return s.putBatches(stream.Context(), batches) }
	src := source[*putBatch]{recv, func(b *putBatch) int { return b.size }, reader.openBatch}
	return pump(s.service, stream.Context(), src, batchWindow, batchesAtOnce, commit, sendAll(stream))
}

// putBatches commits batches and returns their acks.
func (s *grpcAPI) putBatches(ctx context.Context, batches []*putBatch) answers {
	n := 0
	for _, b := range batches {
		n += b.n
	}
	statuses := make([]frontierpb.AckMessage_Status, n)
	adds := s.addList(n)
	at := 0
	for _, b := range batches {
		for i := range b.urls {
			statuses[at] = frontierpb.AckMessage_SKIPPED
			if b.urls[i].ok {
				adds.add(b.urls[i].url, at)
			} else {
				s.countUnread(true)
			}
			at++
		}
		s.recycle(b)
	}
	_, err := s.commitAdds(ctx, adds, statuses)
	s.freeAdds(adds, err)
	return encodeAll(len(batches), 16+n/max(len(batches), 1), func(dst []byte, i int) []byte {
		mine := statuses[:batches[i].n]
		statuses = statuses[len(mine):]
		return appendBatchAck(dst, batches[i].id, mine)
	})
}

// offerList returns an empty list with room for n URLs.
func (s *service) offerList(n int) []offered {
	l, ok := s.offerings.Get().(*[]offered)
	if !ok {
		l = new([]offered)
	}
	return slices.Grow((*l)[:0], n)
}

// mostOffered is the largest list that is kept for reuse.
const mostOffered = 1 << 10

// recycle takes back the list of a batch whose URLs went elsewhere.
func (s *service) recycle(b *putBatch) {
	l := b.urls
	if b.urls = nil; cap(l) <= mostOffered {
		clear(l)
		s.offerings.Put(&l)
	}
}

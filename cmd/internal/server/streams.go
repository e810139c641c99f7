package server

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

const (
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

// codec is protobuf, with ways of its own for the messages that come and go by
// the million.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// sized is a message, and how many bytes it had on the wire.
type sized struct {
	message any
	bytes   int
}

// Unmarshal implements encoding.CodecV2. Of messages that come by the million it copies the
// bytes only: a call takes its share of memory before it decodes them.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *sized:
		m.bytes = data.Len()
		return c.Unmarshal(data, m.message)
	case *putItem:
		m.from.item(data, m)
		return nil
	case *putBatch:
		m.from.batch(data, m)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*encoded); ok {
		return m.buffers[:], nil
	}
	return c.CodecV2.Marshal(v)
}

// encoded is a message that is ready to be sent. Those of a batch share a slab:
// the transport drops them at about the same time.
type encoded struct {
	data    mem.SliceBuffer
	buffers [1]mem.Buffer
}

// answers are messages that are ready to be sent.
type answers []encoded

// size returns about the bytes that the answers take in memory.
func (a answers) size() int64 {
	n := int64(0)
	for i := range a {
		n += perAnswer + int64(len(a[i].data))
	}
	return n
}

// encodeAll encodes n messages, each appended by one call. One that is longer than the rest of
// the slab grows by itself: a slab that grew would copy the messages before it, and each of its
// copies would stay in memory.
func encodeAll(n, sizeHint int, appendOne func(dst []byte, i int) []byte) answers {
	out := make(answers, n)
	slab := make([]byte, 0, n*sizeHint)
	for i := range out {
		if cap(slab)-len(slab) < sizeHint {
			slab = make([]byte, 0, (n-i)*sizeHint)
		}
		one := appendOne(slab[len(slab):], i)
		if len(one) <= cap(slab)-len(slab) {
			slab = slab[:len(slab)+len(one)]
		}
		out[i].data = one[:len(one):len(one)]
		out[i].buffers[0] = &out[i].data
	}
	return out
}

// appendAck appends an AckMessage.
func appendAck(dst []byte, id string, st frontierpb.AckMessage_Status) []byte {
	dst = appendString(dst, 1, id)
	if st != 0 {
		dst = append(dst, varint2, byte(st))
	}
	return dst
}

// appendBatchAck appends a BatchAck.
func appendBatchAck(dst []byte, id string, statuses []frontierpb.AckMessage_Status) []byte {
	dst = appendString(dst, 1, id)
	if len(statuses) == 0 {
		return dst
	}
	dst = protowire.AppendVarint(append(dst, bytes2), uint64(len(statuses)))
	for _, st := range statuses {
		dst = append(dst, byte(st))
	}
	return dst
}

// appendLease appends the URLInfo of a lease.
func appendLease(dst []byte, l *frontier.Lease) []byte {
	dst = appendString(dst, 1, wireURL(l.URL))
	dst = appendString(dst, 2, l.Queue)
	if isMetadata(l.Meta) {
		dst = append(dst, l.Meta...)
	}
	return appendString(dst, 4, l.Crawl)
}

// appendString appends a string field, as proto3 does: not at all if empty.
func appendString(dst []byte, number byte, s string) []byte {
	if s == "" {
		return dst
	}
	dst = protowire.AppendVarint(append(dst, number<<3|byte(protowire.BytesType)), uint64(len(s)))
	return append(dst, s...)
}

const (
	// encodeAtOnce is how many URLs are encoded ahead of being sent.
	encodeAtOnce = 64
)

// GetURLs implements the call. One queue is never served to two callers: a
// step of the store leases its URLs and starts its delay.
func (s *grpcAPI) GetURLs(p *frontierpb.GetParams, stream frontierpb.URLFrontier_GetURLsServer) error {
	s.count.getCalls.Inc()
	began := time.Now()
	defer func() {
		s.count.getLatency.Observe(time.Since(began).Seconds())
		s.count.lease.Observe(time.Since(began).Seconds())
	}()
	req, ok := leaseRequest(p)
	if !ok {
		return nil
	}
	req.MaxExpired = cmp.Or(s.cfg.MaxExpiredOverGRPC, -1)
	queues := int(p.MaxQueues)
	for p.MaxQueues == 0 || queues > 0 {
		req.MaxQueues = queues
		leases, full, err := s.leaseAndSend(stream, req)
		if err != nil {
			return err
		}
		queues -= countQueues(leases)
		if len(leases) < req.Max && !full || s.isDraining() {
			return nil
		}
	}
	return nil
}

// leaseAndSend is one step of GetURLs. It returns its leases, and reports whether it stopped at
// its number of bytes.
func (s *grpcAPI) leaseAndSend(stream frontierpb.URLFrontier_GetURLsServer, req frontier.LeaseRequest) (leases []*frontier.Lease, full bool, err error) {
	ctx := stream.Context()
	held, err := s.payForLeases(ctx, &req, sentCopies)
	if err != nil {
		return nil, false, err
	}
	defer func() { s.admission.keepUnsent(callOf(ctx), held) }()
	if leases, _, err = s.leaseNow(ctx, req); err != nil {
		held.done()
		return nil, false, s.fault("lease", err)
	}
	s.countLeases(ctx, len(leases))
	held.keep(costOfLeases(leases, sentCopies))
	full = bytesOfLeases(leases) >= req.MaxBytes
	return leases, full, s.sendLeases(stream, leases)
}

// leaseRequest returns what to lease; ok is false for a request nothing can
// match: a queue without the crawl it is in.
func leaseRequest(p *frontierpb.GetParams) (req frontier.LeaseRequest, ok bool) {
	req = frontier.LeaseRequest{
		Crawl:       "*",
		Queue:       p.Key,
		MaxPerQueue: int(min(p.MaxUrlsPerQueue, unbounded)),
		MaxInFlight: int(min(p.MaxUrlsPerQueue, unbounded)),
		Lease:       time.Duration(p.DelayRequestable) * time.Second,
	}
	if named, set := p.Item.(*frontierpb.GetParams_CrawlID); set {
		req.Crawl = crawlName(named.CrawlID)
	}
	if req.MaxPerQueue == 0 {
		req.MaxPerQueue, req.MaxInFlight = unbounded, -1
	}
	if req.Lease == 0 {
		req.Lease = defaultLease
	}
	req.Max = takeAtOnce
	if p.MaxQueues > 0 {
		req.Max = int(min(uint64(req.MaxPerQueue)*uint64(p.MaxQueues), takeAtOnce))
	}
	return req, p.Key == "" || req.Crawl != "*"
}

// sendLeases hands leases over, and drops their metadata when it is encoded. What could not be
// sent is given back, so that it needn't wait for its lease to run out.
func (s *grpcAPI) sendLeases(stream frontierpb.URLFrontier_GetURLsServer, leases []*frontier.Lease) error {
	for first := 0; first < len(leases); first += encodeAtOnce {
		some := leases[first:min(first+encodeAtOnce, len(leases))]
		messages := encodeAll(len(some), 128, func(dst []byte, i int) []byte {
			dst = appendLease(dst, some[i])
			some[i].Meta = nil // the client may take long
			return dst
		})
		for i := range messages {
			if err := stream.SendMsg(&messages[i]); err != nil {
				s.release(leases[first+i:])
				return err
			}
		}
	}
	return nil
}

// countQueues counts the different queues of leases; those of one queue come
// together.
func countQueues(leases []*frontier.Lease) int {
	n := 0
	for i, l := range leases {
		if i == 0 || l.Queue != leases[i-1].Queue || l.Crawl != leases[i-1].Crawl {
			n++
		}
	}
	return n
}

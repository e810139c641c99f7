package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// crawlName reads blanks as no name, as URLFrontier does.
func crawlName(id string) string {
	if strings.TrimSpace(id) == "" {
		return defaultCrawl
	}
	return id
}

// appendMetadata appends metadata that did not come in a message, as the decoder leaves it.
func appendMetadata(dst []byte, m map[string][]string) []byte {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		var list []byte
		for _, value := range m[name] {
			list = protowire.AppendString(append(list, bytes1), value)
		}
		dst = appendEntry(dst, []byte(name), list)
	}
	return dst
}

// unpackMeta adds metadata to a message. What isn't metadata of ours, such as
// that of a URL added by other means, is left out.
func unpackMeta(info *frontierpb.URLInfo, meta []byte) {
	if len(meta) == 0 {
		return
	}
	var only frontierpb.URLInfo
	if proto.Unmarshal(meta, &only) == nil {
		info.Metadata = only.Metadata
	}
}

// maxSeconds is the year 5138: a later date can't be meant as seconds, and
// is read as milliseconds.
const maxSeconds = 100_000_000_000

// dueOf is the time of a refetchable_from_date other than 0.
func dueOf(date uint64) time.Time {
	if date > maxSeconds {
		return time.UnixMilli(int64(min(date, maxSeconds*1000)))
	}
	return time.Unix(int64(date), 0)
}

// dateOf is the wire form of a time, 0 for none.
func dateOf(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.Unix(), 1))
}

// add offers URLs to the frontier, counts the verdicts, and returns no results
// when they could not be stored.
func (s *service) add(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	if len(urls) == 0 {
		return nil, nil
	}
	began := time.Now()
	results, err := s.f.AddBatch(ctx, urls)
	s.countAdded(ctx, len(urls), results, err, began)
	return results, err
}

func (s *service) countAdded(ctx context.Context, n int, results []frontier.Result, err error, began time.Time) {
	c := s.count
	s.rateOf(ctx).charge(n)
	c.putURLs.Add(float64(n))
	c.discoveredURLs.Add(float64(n))
	c.batch.Observe(float64(n))
	if err != nil {
		c.failed.Add(float64(n))
		s.log.Error("cannot add URLs", "urls", n, "error", err)
		s.store.noticed(err)
		return
	}
	c.commit.Observe(time.Since(began).Seconds())
	var fresh, duplicate, refused float64
	for i := range results {
		switch r := &results[i]; r.Status {
		case frontier.StatusNew:
			fresh++
		case frontier.StatusDuplicate:
			duplicate++
		default:
			refused++
			c.reasons.WithLabelValues(string(r.Reason)).Inc()
		}
	}
	c.fresh.Add(fresh)
	c.duplicate.Add(duplicate)
	c.putIgnored.Add(duplicate)
	c.refused.Add(refused)
}

// put states what became of URLs.
func (s *service) put(ctx context.Context, known []frontier.Known) ([]frontier.Result, error) {
	if len(known) == 0 {
		return nil, nil
	}
	began := time.Now()
	results, err := s.f.Put(ctx, known)
	c := s.count
	s.rateOf(ctx).charge(len(known))
	c.putURLs.Add(float64(len(known)))
	c.knownURLs.Add(float64(len(known)))
	c.batch.Observe(float64(len(known)))
	if err != nil {
		c.failed.Add(float64(len(known)))
		s.log.Error("cannot put URLs", "urls", len(known), "error", err)
		s.store.noticed(err)
		return nil, err
	}
	c.commit.Observe(time.Since(began).Seconds())
	for i := range results {
		s.countPut(&results[i], known[i].Next.IsZero() && !results[i].Requeued)
	}
	return results, nil
}

func (s *service) countPut(r *frontier.Result, completed bool) {
	switch {
	case r.Status == frontier.StatusRefused:
		s.count.refused.Inc()
		s.count.reasons.WithLabelValues(string(r.Reason)).Inc()
	case completed:
		s.count.putCompleted.Inc()
		s.count.settled.WithLabelValues("done").Inc()
	default:
		s.count.settled.WithLabelValues("recrawl").Inc()
	}
}

package server

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// What clients offer comes as messages (decode.go) or lines (httplines.go). From here on both go the same way: to the
// frontier in turns, where the disk has room, and counted.

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
			k := &puts.known[len(puts.known)-1]
			s.tellFetch(k)
			if it.imported {
				k.Outcome = frontier.Release
			}
			s.boundMeta(k)
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
		case i >= len(results) || failed(&results[i]):
			statuses[place] = frontierpb.AckMessage_FAIL
		case results[i].Status == frontier.StatusNew:
			statuses[place] = frontierpb.AckMessage_OK
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
		clear(l.urls)
		l.urls, l.places = l.urls[:0], l.places[:0]
		s.addLists.Put(l)
	}
}

// commitPuts states results and sets statuses as commitAdds does.
func (s *service) commitPuts(ctx context.Context, l *putList, statuses []frontierpb.AckMessage_Status) []frontier.Result {
	results, _ := inTurns(ctx, s.gate, l.known, s.guardedPut) // which logs errors
	for i, place := range l.places {
		switch {
		case i >= len(results) || failed(&results[i]):
			statuses[place] = frontierpb.AckMessage_FAIL
		case results[i].Status == frontier.StatusRefused:
			statuses[place] = frontierpb.AckMessage_SKIPPED
		default:
			statuses[place] = frontierpb.AckMessage_OK
		}
	}
	return results
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

// tellFetch sets from the metadata of a known URL what its fetch was, and where it was redirected to; and, if
// fetches are kept, their results.
func (s *service) tellFetch(k *frontier.Known) {
	wanted := s.cfg.Evidence.Wants()
	told := func(part string) bool { return bytes.Contains(k.Meta, []byte(part)) }
	if !wanted && !told("redir") && !told(statusName) && !told(causeName) || !isMetadata(k.Meta) {
		return
	}
	info := &frontierpb.URLInfo{}
	unpackMeta(info, k.Meta)
	f := frontier.Fetched{Digest: firstValue(info, digestNames), Redirect: firstValue(info, redirectNames),
		NoVarySearch: firstValue(info, noVaryNames), CleanParam: firstValue(info, cleanNames), Masked: firstValue(info, maskedNames),
		Unlisted: firstValue(info, noIndexNames) == "true" && firstValue(info, noFollowNames) == "true"}
	if link := firstValue(info, canonicalNames); link != "" {
		f.Canonical = audit.Resolve(k.URL, link)
	}
	if f.Redirect != "" {
		k.Redirect = audit.Resolve(k.URL, f.Redirect)
	}
	k.Outcome = outcomeOf(info)
	if !wanted || f.Digest+f.Redirect+f.Canonical+f.NoVarySearch+f.CleanParam+f.Masked == "" && !f.Unlisted {
		return
	}
	if n, err := strconv.Atoi(firstValue(info, statusNames)); err == nil && n > 0 && n <= 999 {
		f.Status = n
	}
	k.Fetched = &f
}

// outcomeOf returns what the metadata of a known URL says of its fetch. What it does not say, or says in words that are
// not known, is a page.
func outcomeOf(info *frontierpb.URLInfo) frontier.Outcome {
	status, _ := strconv.Atoi(firstValue(info, []string{statusName}))
	switch {
	case firstValue(info, []string{redirectName}) != "":
		return frontier.Redirected
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return frontier.Defer
	case status >= 400 && status <= 599, firstValue(info, []string{causeName}) != "":
		return frontier.Retry
	}
	return frontier.Done
}

func firstValue(info *frontierpb.URLInfo, names []string) string {
	for _, name := range names {
		if values := info.GetMetadata()[name].GetValues(); len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// What StormCrawler says of a fetch in the metadata of its URL: the status, why there is none, and the target of a redirect.
const (
	statusName   = "fetch.statusCode"
	causeName    = "error.cause"
	redirectName = "_redirTo"
)

// digestNames are what crawlers call the digest in a URL's metadata; StormCrawler's is
// "signature". statusNames and redirectNames are those of the status and the redirect target.
var (
	digestNames   = []string{"digest", "signature"}
	statusNames   = []string{"status", statusName}
	redirectNames = []string{"redirect", redirectName}

	canonicalNames = []string{"canonical"}
	noVaryNames    = []string{"no-vary-search"}
	cleanNames     = []string{"clean-param"}
	maskedNames    = []string{"masked"}
	noIndexNames   = []string{"robots.noIndex"} // as StormCrawler has them
	noFollowNames  = []string{"robots.noFollow"}
)

// guardedAdd offers URLs to the frontier, where the disk has room, and counts the verdicts. There are no results when they could
// not be stored.
func (s *service) guardedAdd(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return s.countAdded(guarded(ctx, s, urls, s.count.discoveredURLs, s.f.AddBatch))
}

// guardedSee records URLs as seen in the same way.
func (s *service) guardedSee(ctx context.Context, urls []frontier.Link) ([]frontier.Result, error) {
	return s.countAdded(guarded(ctx, s, urls, s.count.discoveredURLs, s.f.See))
}

// guardedPut states what became of URLs in the same way.
func (s *service) guardedPut(ctx context.Context, known []frontier.Known) ([]frontier.Result, error) {
	results, err := guarded(ctx, s, known, s.count.knownURLs, s.f.Put)
	for i := range results {
		s.countPut(&results[i], &known[i])
	}
	return results, err
}

// guarded has do store items of a kind, where the disk has room, and counts them.
func guarded[T any](ctx context.Context, s *service, items []T, kind prometheus.Counter, do func(context.Context, []T) ([]frontier.Result, error)) ([]frontier.Result, error) {
	if len(items) == 0 {
		return nil, nil
	}
	c, n, began := s.count, float64(len(items)), time.Now()
	if err := s.room(); err != nil {
		c.failed.Add(n)
		return nil, err
	}
	results, err := do(ctx, items)
	s.rateOf(ctx).charge(len(items))
	c.putURLs.Add(n)
	kind.Add(n)
	c.batch.Observe(n)
	if err != nil {
		c.failed.Add(n)
		if ctx.Err() == nil { // else the client went away
			s.log.Error("cannot store URLs", "urls", len(items), "error", err)
		}
		return nil, err
	}
	c.commit.Observe(time.Since(began).Seconds())
	return results, nil
}

func (s *service) countAdded(results []frontier.Result, err error) ([]frontier.Result, error) {
	var fresh, duplicate, refused float64
	for i := range results {
		switch r := &results[i]; r.Status {
		case frontier.StatusNew:
			fresh++
		case frontier.StatusDuplicate:
			duplicate++
		default:
			refused++
			s.count.reasons.WithLabelValues(string(r.Reason)).Inc()
		}
	}
	s.count.fresh.Add(fresh)
	s.count.duplicate.Add(duplicate)
	s.count.putIgnored.Add(duplicate)
	s.count.refused.Add(refused)
	return results, err
}

func (s *service) countPut(r *frontier.Result, k *frontier.Known) {
	outcome := k.Outcome
	switch again := !k.Next.IsZero() || r.Requeued; {
	case r.Status == frontier.StatusRefused:
		s.count.refused.Inc()
		s.count.reasons.WithLabelValues(string(r.Reason)).Inc()
		return
	case !again:
		s.count.putCompleted.Inc()
	case outcome == frontier.Done || outcome == frontier.Release:
		outcome = frontier.Recrawl
	}
	if outcome == frontier.Release {
		outcome = frontier.Done
	}
	s.count.settled.WithLabelValues(outcomeLabels[outcome]).Inc()
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

// AppendMetadata appends metadata as [frontier.Link.Meta] has it for a daemon: as the decoder leaves that of a message.
func AppendMetadata(dst []byte, m map[string][]string) []byte {
	if len(m) == 0 {
		return dst
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		var list []byte
		for _, value := range m[name] {
			list = protowire.AppendString(append(list, bytes1), value)
		}
		dst = appendEntry(dst, []byte(name), list)
	}
	return dst
}

// unpackMeta adds metadata to a message. It leaves out metadata that this server did not write,
// for example of a URL that was added by other means.
func unpackMeta(info *frontierpb.URLInfo, meta []byte) {
	if len(meta) == 0 {
		return
	}
	var only frontierpb.URLInfo
	if proto.Unmarshal(meta, &only) == nil {
		info.Metadata = only.Metadata
	}
}

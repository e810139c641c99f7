package audit

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store/captures"
)

// Capture is one fetch, as a log has it or a daemon kept it.
type Capture = captures.Capture

// Log contains the captures of one or more logs: 16 bytes for each capture, and each distinct URL and digest once.
// It is not safe for concurrent use.
type Log struct {
	urls      table
	digests   table
	captures  []capture           // once sorted, by URL and time
	sorted    int                 // how many were there when they were sorted last
	first     []uint32            // where a URL's begin; they end where the next one's do
	redirects map[uint32][]uint32 // from URL to URL
	declared  declarations
	// Tests set others.
	minControl int
	confidence float64
}

// capture is a fetch in small.
type capture struct {
	url    uint32
	time   uint32 // seconds since 1970
	digest uint32 // number of the digest plus one; 0: none that counts
	status uint16
}

// The numbers of the method.
const (
	// maxHosts leaves out digests that more hosts than this share: soft 404s, spacer images, robots.txt.
	maxHosts = 5
	// minControl is how many recaptures a cluster needs to be a control.
	minControl = 5
	// stableShare is the share of unchanged recaptures from which a cluster is stable.
	stableShare = 0.8
	// confidence is that of the intervals.
	confidence = 0.95
)

// NewLog returns a log without captures.
func NewLog() *Log {
	return &Log{urls: newTable(), digests: newTable(), redirects: map[uint32][]uint32{}, declared: newDeclarations(), minControl: minControl, confidence: confidence}
}

// AddSample adds the fetches of a sample that a daemon keeps. It ends with ctx.
func (l *Log) AddSample(ctx context.Context, s *captures.Sample) error {
	for c, err := range s.All() {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = l.Add(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Add adds a fetch. It fails when there are more URLs or captures than the log can number, 2^32 - 2.
func (l *Log) Add(c Capture) error {
	id, err := l.urls.add(c.URL)
	if err != nil {
		return err
	}
	small := capture{url: id, time: seconds(c.Time), status: uint16(max(0, min(c.Status, math.MaxUint16)))}
	if d := digestOf(c.Digest); d != "" {
		n, err := l.digests.add(d)
		if err != nil {
			return err
		}
		small.digest = n + 1
	}
	l.captures = append(l.captures, small)
	if err := l.addDeclared(id, &c); err != nil {
		return err
	}
	if target := Resolve(c.URL, c.Redirect); target != "" && target != c.URL {
		return l.AddRedirect(c.URL, target)
	}
	return nil
}

// AddRedirect notes that a fetch of one URL was redirected to another.
func (l *Log) AddRedirect(from, to string) error {
	a, err := l.urls.add(from)
	if err != nil {
		return err
	}
	b, err := l.urls.add(to)
	if err != nil {
		return err
	}
	if !slices.Contains(l.redirects[a], b) {
		l.redirects[a] = append(l.redirects[a], b)
	}
	return nil
}

func seconds(t time.Time) uint32 {
	return uint32(max(0, min(t.Unix(), math.MaxUint32)))
}

// Resolve makes the target of a redirect absolute; "" stays "", and a target whose base is no URL stays as it is.
func Resolve(base, target string) string {
	if target == "" {
		return ""
	}
	b, err := canon.ParseBase(base)
	if err != nil {
		return target
	}
	return b.Resolve(target)
}

// sort puts the captures in order of URL and time.
func (l *Log) sort() {
	if l.sorted == len(l.captures) && len(l.first) == l.urls.len()+1 {
		return
	}
	slices.SortFunc(l.captures, func(a, b capture) int {
		return cmp.Or(cmp.Compare(a.url, b.url), cmp.Compare(a.time, b.time), cmp.Compare(a.digest, b.digest))
	})
	l.sorted, l.first = len(l.captures), make([]uint32, l.urls.len()+1)
	for _, c := range l.captures {
		l.first[c.url+1]++
	}
	for i := 1; i < len(l.first); i++ {
		l.first[i] += l.first[i-1]
	}
}

// of returns the captures of a URL, in order of time.
func (l *Log) of(url uint32) []capture { return l.captures[l.first[url]:l.first[url+1]] }

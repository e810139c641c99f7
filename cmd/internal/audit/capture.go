package audit

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/firstseen/firstseen/store/captures"
)

// Capture is one fetch of a URL as a log has it.
type Capture struct {
	URL      string
	Time     time.Time
	Status   int    // of HTTP; 0 where the log has none, as of a revisit
	Digest   string // of the content in any one alphabet; "" where the log has none
	Redirect string // where the fetch was redirected to; "" if it wasn't

	// What the response declares, as in package declared; empty for nothing.
	Canonical    string
	NoVarySearch string
	CleanParam   string // of a robots.txt, a line for each rule
}

// Log contains the captures of one or more logs: 12 bytes for each capture, 16 until it is sorted,
// and each distinct URL and digest once. It is not safe for concurrent use.
type Log struct {
	urls      table
	digests   digests
	fresh     [][]located         // captures as they came since the last sort, in runs
	captures  []capture           // the sorted ones, by URL and time
	first     []uint32            // where a URL's begin; they end where the next one's do
	redirects map[uint32][]uint32 // from URL to URL
	declared  declarations
	options   Options
}

// capture is a Capture in small, of a URL that is known from its place.
type capture struct {
	time   uint32 // seconds since 1970
	digest uint32 // number of the digest plus one; 0: none that counts
	status uint16
}

// Options modify the judgement. The zero value is what the method prescribes.
type Options struct {
	// MaxHosts leaves out digests that more hosts than this share: soft 404s,
	// spacer images, robots.txt. The default is 5.
	MaxHosts int
	// MinControl is how many recaptures a cluster needs to be a control. The
	// default is 5.
	MinControl int
	// StableShare is the share of unchanged recaptures from which a cluster is
	// stable. The default is 0.8.
	StableShare float64
	// Confidence of the intervals. The default is 0.95.
	Confidence float64
}

func (o Options) withDefaults() Options {
	o.MaxHosts = cmp.Or(o.MaxHosts, 5)
	o.MinControl = cmp.Or(o.MinControl, 5)
	o.StableShare = cmp.Or(o.StableShare, 0.8)
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	return o
}

// NewLog returns a log without captures.
func NewLog(opt Options) *Log {
	return &Log{urls: newTable(), digests: newDigests(), redirects: map[uint32][]uint32{}, declared: newDeclarations(), options: opt.withDefaults()}
}

// EmptyBody is the SHA-1, in base32, of no bytes: not a content to compare.
const EmptyBody = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

// AddSample adds the fetches of a sample that a daemon keeps. It ends with ctx.
func (l *Log) AddSample(ctx context.Context, s *captures.Sample) error {
	for c, err := range s.All() {
		err = cmp.Or(err, ctx.Err())
		if err == nil {
			err = l.Add(Capture{URL: c.URL, Time: c.Time, Status: c.Status, Digest: c.Digest, Redirect: Resolve(c.URL, c.Redirect),
				Canonical: c.Canonical, NoVarySearch: c.NoVarySearch, CleanParam: c.CleanParam})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Add adds a capture. It fails when there are more URLs or captures than the
// log can number, 2^32 - 2.
func (l *Log) Add(c Capture) error {
	id, err := l.urls.add(c.URL)
	if err != nil {
		return err
	}
	small := capture{time: seconds(c.Time), status: uint16(max(0, min(c.Status, math.MaxUint16)))}
	if d := digestOf(c.Digest); d != "" {
		n, err := l.digests.add(d)
		if err != nil {
			return err
		}
		small.digest = n + 1
	}
	l.keep(id, small)
	if err := l.addDeclared(id, &c); err != nil {
		return err
	}
	if c.Redirect != "" && c.Redirect != c.URL {
		return l.AddRedirect(c.URL, c.Redirect)
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
	for _, known := range l.redirects[a] {
		if known == b {
			return nil
		}
	}
	l.redirects[a] = append(l.redirects[a], b)
	return nil
}

func seconds(t time.Time) uint32 {
	return uint32(max(0, min(t.Unix(), math.MaxUint32)))
}

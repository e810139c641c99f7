package client

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// appendURL appends the line of a URL of a crawl.
func appendURL(dst []byte, u *frontier.Link, crawl string) ([]byte, error) {
	if !utf8.ValidString(crawl) || !utf8.ValidString(u.Queue) || !utf8.ValidString(u.Group) || !utf8.ValidString(u.Discriminator) {
		return dst, fault.As(ErrNotCarried, "cannot offer %q; got a crawl, queue, group or discriminator that isn't UTF-8", u.URL)
	}
	l := lineWriter{append(dst, '{')}
	if utf8.ValidString(u.URL) {
		l.text("url", u.URL)
	} else {
		l.bytes("url_bytes", []byte(u.URL))
	}
	if crawl != store.DefaultCrawl {
		l.text("crawl", crawl)
	}
	l.textUnlessEmpty("queue", u.Queue)
	l.textUnlessEmpty("group", u.Group)
	l.textUnlessEmpty("discriminator", u.Discriminator)
	if len(u.Meta) > 0 {
		l.bytes("meta", u.Meta)
	}
	if err := l.time("due", u.Due); err != nil {
		return dst, err
	}
	if u.Priority > 0 {
		l.number("priority", int64(u.Priority))
	}
	if u.Depth != 0 {
		l.number("depth", int64(u.Depth))
	}
	if u.Force {
		l.raw("force", "true")
	}
	if err := l.time("unless_fetched_after", u.UnlessFetchedAfter); err != nil {
		return dst, err
	}
	if u.Raise {
		l.raw("raise", "true")
	}
	if u.SkipTraps {
		l.raw("skip_traps", "true")
	}
	return append(l.b, "}\n"...), nil
}

var outcomes = [...]string{frontier.Done: "done", frontier.Retry: "retry", frontier.Recrawl: "recrawl",
	frontier.Drop: "drop", frontier.Release: "release", frontier.Extend: "extend", frontier.Defer: "defer", frontier.Redirected: "redirected"}

// appendSettlement appends a settlement. What the daemon needs to know of the
// lease beyond its name, it looks up.
func appendSettlement(dst []byte, s *frontier.Settlement) ([]byte, error) {
	if s.Lease == nil {
		return dst, fault.As(store.ErrInvalid, "cannot settle: a settlement has no lease")
	}
	if int(s.Outcome) >= len(outcomes) {
		return dst, fault.As(store.ErrInvalid, "cannot settle %q: there is no outcome %d", s.Lease.URL, s.Outcome)
	}
	if s.Priority != nil && *s.Priority > store.MaxPriority {
		return dst, fault.As(store.ErrInvalid, "cannot settle %q: got priority %d; want 0 to %d", s.Lease.URL, *s.Priority, store.MaxPriority)
	}
	l := lineWriter{append(dst, '{')}
	l.text("key", hex.EncodeToString(s.Lease.Key[:]))
	l.text("token", strconv.FormatUint(s.Lease.Token, 10))
	l.textUnlessEmpty("crawl", s.Lease.Crawl)
	l.text("outcome", outcomes[s.Outcome])
	if err := errors.Join(l.time("at", s.At), l.time("block_queue_until", s.BlockQueue)); err != nil {
		return dst, err
	}
	if !s.Lease.Started.IsZero() {
		l.seconds("took_seconds", time.Since(s.Lease.Started))
	}
	if fetched := fetchedOf(s); fetched != nil {
		l.raw("fetched", string(fetched))
	}
	if s.Meta != nil {
		l.bytes("meta", s.Meta)
	}
	if s.Priority != nil {
		l.number("priority", int64(*s.Priority))
	}
	return append(l.b, '}'), nil
}

// resultOf converts a verdict to a Result. resent means that the URL was sent more than once.
func resultOf(v *wire.VerdictLine, resent bool) (frontier.Result, error) {
	r := frontier.Result{Canonical: v.Canonical, Queue: v.Queue, Requeued: v.Requeued, Raised: v.Raised, First: wire.TextOr(v.First, v.FirstBytes), SeenIn: v.SeenIn, Resent: resent}
	switch v.Verdict {
	case wire.New:
		r.Status = frontier.StatusNew
	case wire.Duplicate:
		r.Status = frontier.StatusDuplicate
	case wire.Refused:
		r.Status = frontier.StatusRefused
		if v.Error != nil {
			r.Reason, r.Err = frontier.Reason(v.Error.Code), refusal(v.Error)
		}
		return r, nil
	default:
		return r, fmt.Errorf("cannot read answer; got verdict %q; want new, duplicate or refused", v.Verdict)
	}
	return r, decodeKey(&r.Key, v.Key)
}

// refusal returns the Result.Err of a refusal, for the reasons that have one.
func refusal(f *wire.Fault) error {
	switch frontier.Reason(f.Code) {
	case frontier.ReasonURL:
		return fmt.Errorf("%w: %s", canon.ErrURL, f.Message)
	case frontier.ReasonScheme:
		return fmt.Errorf("%w: %s", canon.ErrScheme, f.Message)
	case frontier.ReasonNoTexts:
		return store.ErrNoTexts
	case frontier.ReasonTooLong:
		return fmt.Errorf("%w: %s", canon.ErrTooLong, f.Message)
	}
	return nil
}

func decodeKey(k *store.Key, text string) error {
	if n, err := hex.Decode(k[:], []byte(text[:min(len(text), 2*len(k))])); err != nil || n != len(k) {
		return fmt.Errorf("cannot read answer; got key %.40q; want %d hex digits", text, 2*len(k))
	}
	return nil
}

func leaseOf(w *wire.Lease) (*frontier.Lease, error) {
	l := &frontier.Lease{URL: w.URL, Crawl: w.Crawl, Queue: w.Queue, Meta: w.Meta, Depth: w.Depth, Redirects: w.Redirects,
		Discriminator: w.Discriminator, Priority: w.Priority, Attempts: w.Attempts,
		Failures: w.Failures, Deferrals: w.Deferrals, Releases: w.Releases, Expiries: w.Expiries, Created: w.Created, Expires: w.Expires, Started: time.Now()}
	l.URL = wire.TextOr(w.URL, w.URLBytes)
	var err error
	if l.Token, err = strconv.ParseUint(w.Token, 10, 64); err != nil {
		return nil, fmt.Errorf("cannot read lease; got token %.40q: %w", w.Token, err)
	}
	return l, decodeKey(&l.Key, w.Key)
}

// maxTook is the longest fetch that the daemon takes.
const maxTook = 7 * 24 * time.Hour

// lineWriter writes the fields of a JSON object that was begun. It is a few
// times as fast as encoding/json, which is most of what a client does.
type lineWriter struct{ b []byte }

func (l *lineWriter) name(name string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), name...), `":`...)
}

func (l *lineWriter) raw(name, value string) {
	l.name(name)
	l.b = append(l.b, value...)
}

func (l *lineWriter) number(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

func (l *lineWriter) bytes(name string, v []byte) {
	l.name(name)
	l.b = append(base64.StdEncoding.AppendEncode(append(l.b, '"'), v), '"')
}

func (l *lineWriter) textUnlessEmpty(name, text string) {
	if text != "" {
		l.text(name, text)
	}
}

// text writes UTF-8 text.
func (l *lineWriter) text(name, text string) {
	const digits = "0123456789abcdef"
	l.name(name)
	l.b = append(l.b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20:
			l.b = append(l.b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c == '"' || c == '\\':
			l.b = append(l.b, '\\', c)
		default:
			l.b = append(l.b, c)
		}
	}
	l.b = append(l.b, '"')
}

// seconds writes a duration in seconds, unless it is zero or negative.
func (l *lineWriter) seconds(name string, d time.Duration) {
	if d > 0 {
		l.name(name)
		l.b = strconv.AppendFloat(l.b, min(d, maxTook).Seconds(), 'f', -1, 64)
	}
}

// time writes a time that isn't zero.
func (l *lineWriter) time(name string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return fault.As(ErrNotCarried, "cannot send a time; got %v; want a year of four digits", t)
	}
	l.text(name, t.Format(time.RFC3339Nano))
	return nil
}

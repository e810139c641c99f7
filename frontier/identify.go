package frontier

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
)

// identifier makes the canonical forms, queues and keys of URLs of one crawl, all by the profile that
// the crawl had when the identifier was made. It belongs to one goroutine.
type identifier struct {
	f       *Frontier
	crawl   *crawl
	profile *canon.Profile
	scratch []byte // the latest form
	deep    bool   // the crawl is depth first
}

func (f *Frontier) identifier(c *crawl) identifier {
	return identifier{f: f, crawl: c, profile: f.profileOf(c), deep: f.deepFirst(c.name)}
}

// isExact reports whether a profile leaves URLs as they are. Then the queue is part of the identity.
func isExact(p *canon.Profile) bool { return p.Name() == "none" }

// identify fills in the canonical form, the queue and the key of a URL, or refuses it.
func (id *identifier) identify(u *Link, r *Result) bool {
	if err := id.canonicalize(u.URL); err != nil {
		r.refuse(Reason(canon.Code(err)))
		r.Err = err
		return false
	}
	if r.Canonical = u.URL; string(id.scratch) != u.URL {
		r.Canonical = string(id.scratch)
	}
	if r.Queue = u.Queue; r.Queue == "" {
		form := r.Canonical
		if isExact(id.profile) || id.profile.Name() == "surt" {
			form = u.URL // the forms hide the host
		}
		r.Queue = id.f.opt.QueueBy(form)
		// example.com. is the same server. In an exact crawl the queue is a part of the key.
		if strings.HasSuffix(r.Queue, ".") && !isExact(id.profile) && r.Queue == ByHost(form) {
			r.Queue = strings.TrimSuffix(r.Queue, ".")
		}
	}
	if r.Queue == "" || len(r.Queue) > store.MaxQueueKey {
		r.refuse(ReasonQueue)
		return false
	}
	r.Key = keyOf(id.scratch, isExact(id.profile), r.Queue, u.Discriminator)
	return true
}

// canonicalize puts the canonical form of a URL into id.scratch.
func (id *identifier) canonicalize(url string) (err error) {
	id.scratch, err = id.profile.AppendCanonical(id.scratch[:0], zerocopy.Bytes(url))
	if err == nil && len(id.scratch) == 0 {
		err = canon.ErrURL
	}
	return err
}

// item makes the store's item of a URL that was identified and is not refused.
func (id *identifier) item(u *Link, r *Result) store.Item {
	due := u.Due
	if id.deep && due.IsZero() {
		due = dueAt(u.Depth)
	}
	return store.Item{
		Key:         r.Key,
		Queue:       r.Queue,
		URL:         u.URL,
		Meta:        record{depth: u.Depth, disc: u.Discriminator, exempt: u.SkipTraps, meta: u.Meta}.encode(),
		Due:         due,
		Priority:    u.Priority,
		Force:       u.Force,
		EndedBefore: u.UnlessFetchedAfter,
		Variant:     r.Canonical != u.URL,
		UnicodeHost: id.profile.HasUnicodeHost(id.scratch),
	}
}

// keyOf returns the identity of a URL in its crawl: the first 16 bytes of the
// SHA-256 of its canonical form. A discriminator, and in an exact crawl the
// queue key, are appended to the form first; their lengths come last, so that
// no two such triples make the same bytes, and a zero byte, which no canonical
// form contains, keeps them apart from plain forms.
//
//	canonical | 0x00 | queue | discriminator | len(queue) 1 byte | len(discriminator) 4 bytes, big endian
//
// It may extend the buffer with the canonical form in place.
func keyOf(canonical []byte, exact bool, queue, disc string) store.Key {
	if !exact {
		if disc == "" {
			return hashkey.SumShort(canonical)
		}
		queue = ""
	}
	b := append(canonical, 0)
	b = append(b, queue...)
	b = append(b, disc...)
	b = append(b, byte(len(queue)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(disc)))
	return hashkey.SumShort(b)
}

// QueueFunc returns the queue key of a URL, at most store.MaxQueueKey bytes, ""
// if it has none (the URL is then refused as [ReasonQueue]). It is called with
// the canonical form, or with the URL as found in an exact crawl and under
// profiles whose forms hide the host (surt, none). It must be safe for
// concurrent use, and should give equal keys for equal forms.
type QueueFunc func(url string) string

// ByHost queues by host name, in lower case, without user and port: the
// servers behind several ports of a name are taken for one machine.
func ByHost(url string) string {
	_, host, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if n := strings.IndexByte(host, '/'); n >= 0 && isPlainHost(host[:n]) {
		return host[:n] // most are, and this is done for every URL that is offered
	}
	if n := strings.IndexAny(host, `/?#\`); n >= 0 {
		host = host[:n]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if port := strings.LastIndexByte(host, ':'); port > strings.LastIndexByte(host, ']') {
		host = host[:port]
	}
	return strings.ToLower(host)
}

// isPlainHost reports whether a host has nothing but lower-case letters, digits, dots and hyphens.
func isPlainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// ByDomain queues by registered domain (one label more than the public
// suffix), so that a.example.com and b.example.com share one queue. IP
// addresses and names without a registered domain are queued by host.
func ByDomain(url string) string {
	host := ByHost(url)
	if isIP(host) {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(host, "."))
	if err != nil {
		return host
	}
	return domain
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
)

// record is what a frontier keeps with a URL, in the store's Meta: its own fields, then the caller's
// data. The zero record is kept as no bytes at all, and most URLs need no more than a depth.
//
//	flags | more flags | depth | hops | len(disc), disc | returned | failures, deferrals, releases
//	| len(chain), keys | status | len(reason), reason | first | fetched | meta
//
// Flags are a byte each, numbers and lengths uvarints. Each field is there if its flag is set. A new one goes into encode (its first line,
// too), decodeRecord, anew, Lease.record if a lease shows it, else isPlain.
type record struct {
	depth int    // links from a seed
	hops  int    // redirects that led here
	disc  string // discriminator
	// exempt is set if the URL was offered with Link.SkipTraps.
	exempt bool
	// tries counts how the earlier leases of this round ended. Nothing is written when a lease expires:
	// expiries are the leases that tries does not count.
	tries
	// chain are the keys of the pages that redirected here, the first one first. Once the URL has ended as the source of a redirect
	// itself (reason is endedRedirected), it has the key of the target alone, if that is known.
	chain []store.Key
	// status is the HTTP status of the latest fetch that brought no page, 0 if it is not known.
	status int
	// reason is why the frontier gave the URL up.
	reason Reason
	// first is the store.Spelling of the first offered URL after it was not found and the canonical form
	// took its place; 0 before.
	first uint32
	// fetched is when a URL that is queued for a recrawl was last fetched, in ms since 1970; 0 for never.
	fetched int64
	meta    []byte
}

// tries are counts of leases that were settled.
type tries struct{ failures, deferrals, releases int }

func (t tries) sum() int { return t.failures + t.deferrals + t.releases }

// anew returns the record for the start of a new round.
func (r record) anew() record {
	return record{depth: r.depth, disc: r.disc, exempt: r.exempt, fetched: r.fetched, meta: r.meta}
}

// endedRedirected marks a URL that is done without a page, as the source of a redirect. It is never shown: [Entry.Reason] is for dropped URLs.
const endedRedirected Reason = "redirected"

// redirectedTo reports whether a URL in state s ended as the source of a redirect, and returns the key of its target, zero if unknown.
func (r *record) redirectedTo(s store.State) (target store.Key, redirected bool) {
	if s != store.Done || r.reason != endedRedirected {
		return target, false
	}
	if len(r.chain) == 1 {
		target = r.chain[0]
	}
	return target, true
}

// running is the number of leases, 0 or 1, that a URL in a state had beside those that tries counts
// and those that expired: the one that runs, or that ended it.
func (r *record) running(s store.State) int {
	switch {
	case s == store.Leased, s == store.Done:
		return 1
	case s == store.Dropped && (r.reason == "" || r.reason == ReasonExpired || r.reason == ReasonExcluded || r.reason == ReasonRedirects):
		return 1
	}
	return 0
}

const (
	hasDepth = 1 << iota
	hasHops
	hasDisc
	hasMore     // flags; in stores of builds before the first release an alias
	hasReturned // how often it was given back by a retry or release: written until format 3
	isExempt    // a flag without a field
	hasTries
	hasChain

	hasStatus // the first of more flags
	hasReason
	hasFirst
	hasFetched

	unknownFlags = ^uint64(hasFetched<<1 - 1)
)

// isPlain reports whether a lease shows all of the record.
func (r *record) isPlain() bool {
	return !r.exempt && len(r.chain) == 0 && r.status == 0 && r.reason == "" && r.first == 0 && r.fetched == 0
}

func (r record) encode() []byte {
	if r.depth == 0 && r.hops == 0 && r.disc == "" && r.tries == (tries{}) && len(r.meta) == 0 && r.isPlain() {
		return nil // the most common, and encode is called for every URL that is offered
	}
	b, flags := make([]byte, 2, 2+len(r.disc)+16*len(r.chain)+len(r.reason)+len(r.meta)+18), 0
	number := func(flag int, is bool, n uint64) {
		if is {
			flags |= flag
			b = binary.AppendUvarint(b, n)
		}
	}
	text := func(flag int, s string) {
		if s != "" {
			flags |= flag
			b = zerocopy.AppendText(b, s)
		}
	}
	if r.exempt {
		flags |= isExempt
	}
	number(hasDepth, r.depth > 0, uint64(r.depth))
	number(hasHops, r.hops > 0, uint64(r.hops))
	text(hasDisc, r.disc)
	tried := r.tries != tries{}
	number(hasTries, tried, uint64(r.failures))
	number(hasTries, tried, uint64(r.deferrals))
	number(hasTries, tried, uint64(r.releases))
	number(hasChain, len(r.chain) > 0, uint64(len(r.chain)))
	for i := range r.chain {
		b = append(b, r.chain[i][:]...)
	}
	number(hasStatus, r.status > 0, uint64(r.status))
	text(hasReason, string(r.reason))
	number(hasFirst, r.first != 0, uint64(r.first))
	number(hasFetched, r.fetched != 0, uint64(r.fetched))
	b = append(b, r.meta...)
	if more := flags >> 8; more != 0 {
		b[0], b[1] = byte(flags)|hasMore, byte(more)
		return b
	}
	b[1] = byte(flags)
	return b[1:]
}

// replacing is encode for a Settlement, where nil would keep the stored record.
func (r record) replacing() []byte {
	if b := r.encode(); b != nil {
		return b
	}
	return []byte{0}
}

func decodeRecord(b []byte) (r record, err error) {
	if len(b) == 0 {
		return r, nil
	}
	d := zerocopy.Reader{B: b}
	flags := uint64(d.Byte())
	if flags&hasMore != 0 {
		flags |= uint64(d.Byte()) << 8
	}
	if flags&unknownFlags != 0 {
		return r, fmt.Errorf("cannot read the frontier's data of a URL; got flags %#x; want none beyond %#x, unless a newer program wrote it: %w", flags, ^unknownFlags, errors.Join(store.ErrCorrupt, store.ErrFormat))
	}
	number := func(flag uint64) (n uint64) {
		if flags&flag != 0 {
			n = d.Uvarint()
		}
		return n
	}
	small := func(flag uint64) (n int) {
		if flags&flag != 0 {
			n = d.Int()
		}
		return n
	}
	text := func(flag uint64) (s string) {
		if flags&flag != 0 {
			s = d.Text()
		}
		return s
	}
	r.exempt = flags&isExempt != 0
	r.depth, r.hops, r.disc = small(hasDepth), small(hasHops), text(hasDisc)
	if r.releases = small(hasReturned); flags&hasTries != 0 {
		r.failures, r.deferrals, r.releases = d.Int(), d.Int(), d.Int()
	}
	keys := d.Take(min(small(hasChain), len(d.B)) * len(store.Key{}))
	for key := range slices.Chunk(keys, len(store.Key{})) {
		r.chain = append(r.chain, store.Key(key))
	}
	r.status, r.reason = small(hasStatus), Reason(text(hasReason))
	r.first, r.fetched = uint32(number(hasFirst)), int64(number(hasFetched))
	if d.Bad {
		return record{}, fmt.Errorf("cannot read the frontier's data of a URL; got %d bytes; want more: %w", len(b), store.ErrCorrupt)
	}
	if len(d.B) > 0 {
		r.meta = d.B
	}
	return r, nil
}

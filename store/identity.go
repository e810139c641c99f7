package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// Identity records how the keys of a store are made. A store belongs to the identity it was created
// with, because other rules would make other keys.
type Identity struct {
	Profile string // canon profile with its rule changes, e.g. "qiita:+strip-www"
	Version int    // version of that profile's algorithm
	KeyKind string // e.g. "url-short-hash"
	Unicode string // version of the Unicode tables that host names went through
}

// IdentityOf returns the identity of a store whose keys are the UrlShortHash of the
// canonical forms of p.
func IdentityOf(p *canon.Profile) Identity {
	return Identity{Profile: p.String(), Version: p.Version(), KeyKind: "url-short-hash", Unicode: p.UnicodeVersion()}
}

// Or returns id with its zero fields taken from other.
func (id Identity) Or(other Identity) Identity {
	return Identity{cmp.Or(id.Profile, other.Profile), cmp.Or(id.Version, other.Version), cmp.Or(id.KeyKind, other.KeyKind), cmp.Or(id.Unicode, other.Unicode)}
}

// AppendTo appends the identity as stores on disk and key files record it: its version as a uvarint, then profile, key kind and
// Unicode version, each after its length as a uvarint.
func (id Identity) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(id.Version))
	for _, s := range []string{id.Profile, id.KeyKind, id.Unicode} {
		dst = zerocopy.AppendText(dst, s)
	}
	return dst
}

// ParseIdentity reads what AppendTo appended. The error is ErrCorrupt if b is anything else.
func ParseIdentity(b []byte) (Identity, error) {
	r := zerocopy.Reader{B: b}
	id := Identity{Version: r.Int(), Profile: r.Text(), KeyKind: r.Text(), Unicode: r.Text()}
	if r.Bad || len(r.B) > 0 {
		return Identity{}, fault.As(ErrCorrupt, "cannot read identity; got %x", b)
	}
	return id, nil
}

// String returns the identity in words.
func (id Identity) String() string {
	if id == (Identity{}) {
		return "no profile"
	}
	return fmt.Sprintf("profile %q, version %d, key kind %q, Unicode %s", id.Profile, id.Version, id.KeyKind, id.Unicode)
}

// Stated returns [ErrIdentity] if id has no profile.
func (id Identity) Stated() error {
	if id.Profile == "" {
		return mismatch("the store does not say how its keys are made; call Prepare first, with store.Terms{Identity: store.IdentityOf(profile)}")
	}
	return nil
}

// Adopt returns the identity of a store with identity id after a user requested want: a zero field
// of one takes the value of the other, and the Unicode version of want replaces that of id. The
// error is ErrIdentity if another field differs; if the Unicode versions differ and unicodeHosts is
// true (the store has keys of internationalised hosts, which depend on it); or if id is zero and
// keys is true (the store has keys).
func (id Identity) Adopt(want Identity, keys, unicodeHosts bool) (Identity, error) {
	now, asked := id.Or(want), want.Or(id)
	onlyUnicode := now
	onlyUnicode.Unicode = asked.Unicode
	switch {
	case id == (Identity{}) && asked != id && keys:
		return id, mismatch("it has keys, and does not say how they were made")
	case onlyUnicode != asked:
		return id, mismatch(now.differs(asked))
	case now != asked && unicodeHosts:
		return id, mismatch(fmt.Sprintf("it has keys of internationalised hosts, made with Unicode %s, not %s; "+
			"give the URLs whose text is kept to a new store: %s", now.Unicode, asked.Unicode, moveURLs))
	}
	return asked, nil
}

// moveURLs are the commands that rebuild the keys of URLs whose text is kept.
const moveURLs = "firstseen migrate --db OLD --to NEW with the --profile, --rules and --rule-file that are wanted " +
	"(from Redis, first: firstseen copy --from-redis ADDR --to-db OLD)"

// mismatch is an ErrIdentity with the difference, and what to do about it.
type mismatch string

func (m mismatch) Error() string { return string(m) }

func (m mismatch) Unwrap() error { return ErrIdentity }

// differs describes how a store's identity id differs from what a user asked for.
func (id Identity) differs(asked Identity) string {
	switch {
	case id.KeyKind != asked.KeyKind:
		return fmt.Sprintf("it was created with keys of kind %q, not %q", id.KeyKind, asked.KeyKind)
	case id.Profile == asked.Profile:
		return fmt.Sprintf("it was created with version %d of profile %q, not %d; use the program that created it, or give its URLs to a new store: %s",
			id.Version, id.Profile, asked.Version, moveURLs)
	}
	return fmt.Sprintf("it was created with profile %q, not %q; use its profile, or give its URLs to a new store: %s", id.Profile, asked.Profile, moveURLs)
}

// Terms are what a user requires of a store before using it: see [Store.Prepare].
type Terms struct {
	// Identity is how the user makes keys. The default is the store's.
	Identity Identity
	// Retention is how long the user wants keys to be remembered. A store that forgets
	// keys by age in groups then makes a group of the keys of at most an eighth of that time.
	// The default, 0, is none.
	Retention time.Duration
	// ReadOnly has the identity compared, and nothing written: a store without one stays so. The default is false.
	ReadOnly bool
}

package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// {meta}M holds the parameters of a store: its format, the number of its shards, the secret by which queues are spread, and the identity of
// its keys. If several daemons set a field at the same time, one wins and the others read its value.
//
// A daemon must notice a node that comes back empty, or known URLs would be new again. So each shard has a mark, made of the number of shards
// and the secret, which every script compares first. The marks, and copies of the identity, have a second purpose: if {meta}M is lost, it is
// rebuilt from them. The field made shows the next daemon how far one that died had come.

// formatVersion is the version of the keys that this package writes. It also reads the previous one, and refuses any other.
const formatVersion = 9

// formatTogether is the format of stores with groups, which differs in where queues are.
const formatTogether = 10

// Values of the field made. A daemon that finds one of the first two continues where another one stopped.
const (
	beingMade   = "0" // the shards get their marks
	beingRemade = "2" // the key was lost: its own shard gets its mark again
	isMade      = "1"
)

// stamp sets the given fields of {meta}M (names and values) that aren't set, or with force all of them. It returns the resulting values.
func (s *Store) stamp(ctx context.Context, force bool, pairs ...string) ([]string, error) {
	blob, values := []byte{flag(force)}, make([]string, len(pairs)/2)
	for i := range values {
		blob = appendLong(appendShort(blob, pairs[2*i]), pairs[2*i+1])
	}
	r, err := s.ask(ctx, scriptMeta, storeShard, "", blob)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = r.long()
	}
	return values, r.err()
}

// loadMeta reads the parameters of the store, or makes a new store. If nothing has to be made, nothing is written, so a store opens even
// while a shard has no replica.
func (s *Store) loadMeta(ctx context.Context) error {
	s.layout = newLayout(s.opt.Prefix, 1)
	meta, err := s.get(ctx, "hmget", s.layout.meta+"M", "format", "shards", "secret", "unicode", "made")
	if err == nil && meta[0] == "" {
		meta, err = s.makeMeta(ctx)
	}
	if err != nil {
		return err
	}
	format, shards, secret, unicode, made := 0, meta[1], meta[2], meta[3], meta[4]
	if len(meta[0]) == 2 {
		format = int(binary.BigEndian.Uint16([]byte(meta[0])))
	}
	if format < formatVersion-1 || format > formatTogether {
		return fault.As(store.ErrFormat, "got format %x; want %04x: to move the store, copy it to a file with the program that made it, and from there with this one",
			meta[0], formatVersion)
	}
	if len(shards) != 2 {
		return fmt.Errorf("got number of shards %x; want 2 bytes: %w", shards, store.ErrCorrupt)
	}
	s.opt.Shards = int(binary.BigEndian.Uint16([]byte(shards)))
	s.layout = newLayout(s.opt.Prefix, s.opt.Shards)
	s.layout.secret, s.layout.mark, s.layout.together = []byte(secret), markOf(shards, secret, max(format, formatVersion)), format == formatTogether
	before := ""
	if format < formatVersion {
		s.opt.Logger.Info("a store of format 8 is taken over: daemons of older builds are refused from here on", "prefix", s.opt.Prefix)
		before = markOf(shards, secret, format)
	}
	if err := s.markShards(ctx, made, before); err != nil {
		return err
	}
	s.unicodeHosts.Store(unicode == "1")
	return s.adopt(ctx, store.Terms{})
}

// markOf returns the mark of a store's shards. It includes the format, so every shard refuses daemons of an older build, whatever
// they have read before. In format 8 it did not.
func markOf(shards, secret string, format int) string {
	mark := hex.EncodeToString([]byte(shards)) + secret
	if format < formatVersion {
		return mark
	}
	return mark + "." + strconv.Itoa(format)
}

// makeMeta writes the parameters of a new store, or, if the key of an existing store is missing, those that its shards have.
func (s *Store) makeMeta(ctx context.Context) ([]string, error) {
	mark, identity, err := s.findSurvivor(ctx)
	switch {
	case err != nil:
		return nil, err
	case mark != "":
		s.opt.Logger.Warn("the key {meta}M of the store was lost; writing it again from the shards", "prefix", s.opt.Prefix)
		shards, err := hex.DecodeString(mark[:min(4, len(mark))])
		secret, number, found := strings.Cut(mark[min(4, len(mark)):], ".")
		format := formatVersion - 1
		if found && err == nil {
			format, err = strconv.Atoi(number)
		}
		if err != nil || secret == "" {
			return nil, fmt.Errorf("got mark %q of a shard; want 4 hex digits and a secret: %w", mark, store.ErrCorrupt)
		}
		return s.stamp(ctx, false, "format", uint16Text(format), "shards", string(shards), "secret", secret, "unicode", "1", "made", beingRemade,
			"identity", identity)
	case s.opt.MustExist:
		return nil, fault.As(store.ErrNotFound, "there is no store with prefix %q; check the prefix and the address", s.opt.Prefix)
	}
	format := formatVersion
	if s.opt.Groups {
		format = formatTogether
	}
	return s.stamp(ctx, false, "format", uint16Text(format), "shards", uint16Text(s.opt.Shards), "secret", rand.Text(), "unicode", "0", "made", beingMade,
		"identity", "")
}

// findSurvivor looks for shards of a store whose own key is missing, and returns their mark and one's copy of the
// identity. It tries the first tags: one of any number of shards has each of a few.
func (s *Store) findSurvivor(ctx context.Context) (mark, identity string, err error) {
	for n := 0; n < 64 && (mark == "" || identity == ""); n++ {
		base := fmt.Sprintf("%s{%d}", s.opt.Prefix, n)
		got, err := s.get(ctx, "mget", base+"b", base+"i")
		if err != nil {
			return "", "", err
		}
		if got[0] != "" {
			mark, identity = got[0], cmp.Or(identity, got[1])
		}
	}
	return mark, identity, nil
}

// markShards marks the shards as the store's: all of them when the store is made, or taken over from a format with another mark, which
// locks out daemons of an older build; only the one of the store's own key when that key is rebuilt.
func (s *Store) markShards(ctx context.Context, made, before string) error {
	if made == isMade && before == "" {
		return nil
	}
	b := s.batch(scriptBirth, sched.AnyCrawl, append(appendShort(nil, before), s.layout.mark...))
	b.add(storeShard, 0)
	if made != beingRemade || before != "" {
		b.everywhere()
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	for _, c := range b.calls {
		if c.reply == "N" {
			return s.emptied(c.shard)
		}
	}
	format := formatVersion
	if s.layout.together {
		format = formatTogether
	}
	_, err := s.stamp(ctx, true, "format", uint16Text(format), "made", isMade)
	return err
}

// emptied is the error for a shard without the mark of its store.
func (s *Store) emptied(shard int) error {
	name := func(shard int) string { return s.layout.name(shard) + "b" }
	other := 0
	if shard == other && s.opt.Shards > 1 {
		other = 1
	}
	return fmt.Errorf("the shard of %s has lost its data: a node came back empty or was emptied; see \"A node lost its data\" in docs/REDIS.md "+
		"(to go on without: redis-cli -c SET '%s' \"$(redis-cli -c GET '%s')\"): %w", name(shard), name(shard), name(other), store.ErrCorrupt)
}

// get asks for fields of a key, or for keys in one slot, and returns "" for each that isn't there.
func (s *Store) get(ctx context.Context, command, key string, more ...string) ([]string, error) {
	node, err := s.nodes.MasterForKey(ctx, key)
	if err != nil {
		return nil, fault.As(store.ErrUnavailable, "cannot find the node of %s: %w", key, err)
	}
	args := []any{command, key}
	for _, m := range more {
		args = append(args, m)
	}
	got, err := node.Do(ctx, args...).Slice()
	if err != nil {
		return nil, fault.As(store.ErrUnavailable, "cannot read %s: %w", key, err)
	}
	values := make([]string, len(got))
	for i := range got {
		values[i], _ = got[i].(string) // nil for none
	}
	return values, nil
}

// Identity implements store.Store.
func (s *Store) Identity() store.Identity { return *s.identity.Load() }

// Prepare implements store.Store. Keys are forgotten one by one, so a retention changes nothing.
func (s *Store) Prepare(ctx context.Context, t store.Terms) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.adopt(ctx, t); err != nil {
		return fmt.Errorf("cannot use redis store %q: %w", s.opt.Prefix, err)
	}
	return nil
}

// adopt compares the identity of the store with the wanted one. If the store has none,
// it sets it, unless the terms are to read only; if several daemons do so at once, one succeeds and the others compare.
func (s *Store) adopt(ctx context.Context, t store.Terms) error {
	have, err := s.loadIdentity(ctx)
	if err != nil {
		return err
	}
	keys := false
	if have == (store.Identity{}) && t.Identity != have {
		stats, err := s.stats(ctx, "*")
		if err != nil {
			return err
		}
		keys = stats.Seen > 0
		if have, err = s.loadIdentity(ctx); err != nil { // a daemon may have stamped it in the meantime, and added keys
			return err
		}
	}
	id, err := have.Adopt(t.Identity, keys, s.unicodeHosts.Load())
	if err != nil || t.ReadOnly {
		return err
	}
	if id != have {
		if _, err := s.stamp(ctx, have != (store.Identity{}), "identity", string(appendIdentity(nil, id))); err != nil {
			return err
		}
		return s.adopt(ctx, t) // it may be another daemon's
	}
	if err := s.keep(ctx, id); err != nil {
		return err
	}
	s.identity.Store(&id)
	return nil
}

// keep checks that every shard has the mark of the store, and copies the identity to those that lack it. If none
// does, nothing is written, so a store opens even while a shard has no replica.
func (s *Store) keep(ctx context.Context, id store.Identity) error {
	var row []byte
	if id != (store.Identity{}) {
		row = appendIdentity(nil, id)
	}
	b := s.batch(scriptKeep, "", row).everywhere()
	b.add(storeShard, 0)
	return b.run(ctx)
}

// loadIdentity returns the identity stored in the meta key, zero if there is none.
func (s *Store) loadIdentity(ctx context.Context) (id store.Identity, err error) {
	row, err := s.get(ctx, "hmget", s.layout.meta+"M", "identity")
	if err != nil || row[0] == "" {
		return id, err
	}
	return parseIdentity(row[0])
}

// noteUnicodeHosts records, before the first key of an internationalised host, that there are such keys.
func (s *Store) noteUnicodeHosts(ctx context.Context, any bool) error {
	if !any || s.unicodeHosts.Load() {
		return nil
	}
	if _, err := s.stamp(ctx, true, "unicode", "1"); err != nil {
		return err
	}
	s.unicodeHosts.Store(true)
	return nil
}

func uint16Text(n int) string { return string(binary.BigEndian.AppendUint16(nil, uint16(n))) }

// appendIdentity appends the version 4 and, each after its length 4, profile, key
// kind and Unicode version.
func appendIdentity(dst []byte, id store.Identity) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(id.Version))
	for _, s := range []string{id.Profile, id.KeyKind, id.Unicode} {
		dst = appendLong(dst, s)
	}
	return dst
}

func parseIdentity(row string) (id store.Identity, err error) {
	r := reader{row}
	id.Version = int(r.uint(4))
	id.Profile, id.KeyKind, id.Unicode = r.long(), r.long(), r.long()
	return id, r.err()
}

// namesAtOnce bounds the crawls that one script names.
const namesAtOnce = 200

// NameCrawls implements store.Store. The settled names are fields of {meta}M (FORMAT.md).
func (s *Store) NameCrawls(ctx context.Context, names, stored []string) error {
	if err := sched.CheckNames(names, stored); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	ctx = accepted(ctx)
	for len(names) > 0 {
		n := min(len(names), namesAtOnce)
		var pairs []string
		for i := range n {
			pairs = append(pairs, "crawl "+names[i], stored[i])
		}
		hold, err := s.stamp(ctx, false, pairs...)
		if err != nil {
			return fmt.Errorf("cannot name %d crawls: %w", n, err)
		}
		copy(stored, hold)
		names, stored = names[n:], stored[n:]
	}
	return nil
}

package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// formatVersion is the version of the keys that this package writes. It refuses any other.
const formatVersion = 8

type field struct {
	name, value string
	force       bool // set whatever is there
}

// stamp sets the fields that aren't set, and returns their values.
func (s *Store) stamp(ctx context.Context, fields ...field) ([]string, error) {
	blob := []byte{byte(len(fields))}
	for _, f := range fields {
		blob = append(append(blob, byte(len(f.name))), f.name...)
		blob = appendLong(blob, f.value)
		blob = append(blob, flag(f.force))
	}
	r, err := s.ask(ctx, scriptMeta, storeShard, "", blob)
	if err != nil {
		return nil, err
	}
	values := make([]string, len(fields))
	for i := range values {
		values[i] = r.long()
	}
	return values, r.err()
}

// Values of the field "made" of the meta key. A daemon that finds one of the first two continues where another one stopped.
const (
	beingMade   = "0" // the shards get their marks
	beingRemade = "2" // the key was lost: its own shard gets its mark again
	isMade      = "1"
)

// loadMeta reads what the store was made with, or stamps a new one.
func (s *Store) loadMeta(ctx context.Context) error {
	s.layout = newLayout(s.opt.Prefix, 1)
	there, err := s.get(ctx, s.layout.meta+"M", "format")
	if err != nil {
		return err
	}
	fields := []field{{name: "format", value: uint16Text(formatVersion)}, {name: "shards", value: uint16Text(s.opt.Shards)},
		{name: "secret", value: rand.Text()}, {name: "unicode", value: "0"}, {name: "made", value: beingMade}, {name: "identity"}}
	if there == "" {
		mark, identity, err := s.findSurvivor(ctx)
		switch {
		case err != nil:
			return err
		case mark != "":
			s.opt.Logger.Warn("the key {meta}M of the store was lost; writing it again from the shards", "prefix", s.opt.Prefix)
			shards, err := hex.DecodeString(mark[:min(4, len(mark))])
			if err != nil || len(mark) < 5 {
				return fmt.Errorf("got mark %q of a shard; want 4 hex digits and a secret: %w", mark, store.ErrCorrupt)
			}
			for i, value := range []string{string(shards), mark[4:], "1", beingRemade, identity} {
				fields[i+1].value = value
			}
		case s.opt.MustExist:
			return fault.As(store.ErrNotFound, "there is no store with prefix %q; check the prefix and the address", s.opt.Prefix)
		}
	}
	got, err := s.stamp(ctx, fields...)
	if err != nil {
		return err
	}
	if got[0] != uint16Text(formatVersion) {
		return fault.As(store.ErrFormat, "got format %x; want %04x: to move the store, copy it to a file with the program that made it, and from there with this one",
			got[0], formatVersion)
	}
	if len(got[1]) != 2 {
		return fmt.Errorf("got number of shards %x; want 2 bytes: %w", got[1], store.ErrCorrupt)
	}
	s.opt.Shards = int(binary.BigEndian.Uint16([]byte(got[1])))
	s.layout = newLayout(s.opt.Prefix, s.opt.Shards)
	s.layout.secret, s.layout.mark = []byte(got[2]), hex.EncodeToString([]byte(got[1]))+got[2]
	if err := s.markShards(ctx, got[4]); err != nil {
		return err
	}
	s.unicodeHosts.Store(got[3] == "1")
	return s.adopt(ctx, store.Identity{})
}

// findSurvivor looks for shards of the store, where the store's own key is missing, and returns their mark and the copy of the
// identity that one of them has. It tries the first tags: one of any number of shards has each of a few.
func (s *Store) findSurvivor(ctx context.Context) (mark, identity string, err error) {
	for n := 0; n < 64 && err == nil && (mark == "" || identity == ""); n++ {
		base := fmt.Sprintf("%s{%d}", s.opt.Prefix, n)
		if mark == "" {
			mark, err = s.get(ctx, base+"b", "")
		}
		if err == nil && mark != "" {
			identity, err = s.get(ctx, base+"i", "")
		}
	}
	return mark, identity, err
}

// get returns a key, or a field of it, "" for none.
func (s *Store) get(ctx context.Context, key, field string) (string, error) {
	node, err := s.nodes.MasterForKey(ctx, key)
	if err != nil {
		return "", fault.As(store.ErrUnavailable, "cannot find the node of %s: %w", key, err)
	}
	args := []any{"get", key}
	if field != "" {
		args = []any{"hget", key, field}
	}
	value, err := node.Do(ctx, args...).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fault.As(store.ErrUnavailable, "cannot read %s: %w", key, err)
	}
	return value, nil
}

// Identity implements store.Store.
func (s *Store) Identity() store.Identity { return *s.identity.Load() }

// Prepare implements store.Store. Keys are forgotten one by one, so a retention changes nothing.
func (s *Store) Prepare(ctx context.Context, t store.Terms) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.adopt(ctx, t.Identity); err != nil {
		return fmt.Errorf("cannot use redis store %q: %w", s.opt.Prefix, err)
	}
	return nil
}

// adopt compares the identity of the store with the wanted one. If the store has none,
// it is stamped; of daemons that do so at a time, one succeeds and the others compare.
func (s *Store) adopt(ctx context.Context, want store.Identity) error {
	have, err := s.loadIdentity(ctx)
	if err != nil {
		return err
	}
	keys := false
	if have == (store.Identity{}) && want != have {
		stats, err := s.stats(ctx, "*")
		if err != nil {
			return err
		}
		keys = stats.Seen > 0
		if have, err = s.loadIdentity(ctx); err != nil { // a daemon may have stamped it in the meantime, and added keys
			return err
		}
	}
	id, err := have.Adopt(want, keys, s.unicodeHosts.Load())
	if err != nil {
		return err
	}
	if id != have {
		if _, err := s.stamp(ctx, field{"identity", string(appendIdentity(nil, id)), have != (store.Identity{})}); err != nil {
			return err
		}
		return s.adopt(ctx, want) // it may be another daemon's
	}
	if err := s.keep(ctx, id); err != nil {
		return err
	}
	s.identity.Store(&id)
	return nil
}

// keep checks that every shard has the mark of the store, and copies the identity to those that lack it. If none
// does, nothing is written: a store opens while a shard has no replica.
func (s *Store) keep(ctx context.Context, id store.Identity) error {
	var row []byte
	if id != (store.Identity{}) {
		row = appendIdentity(nil, id)
	}
	b := s.batch(scriptKeep, requestID{}, "", row).everywhere()
	b.part(storeShard, 0)
	return b.run(ctx)
}

// loadIdentity returns the identity that the store was stamped with; it is zero if there is none.
func (s *Store) loadIdentity(ctx context.Context) (id store.Identity, err error) {
	row, err := s.get(ctx, s.layout.meta+"M", "identity")
	if err != nil || row == "" {
		return id, err
	}
	return parseIdentity(row)
}

// noteUnicodeHosts records, before the first key of an internationalised host, that there are such.
func (s *Store) noteUnicodeHosts(ctx context.Context, any bool) error {
	if !any || s.unicodeHosts.Load() {
		return nil
	}
	if _, err := s.stamp(ctx, field{"unicode", "1", true}); err != nil {
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

// markShards marks the shards as the store's: all of them while the store is made, and only that of the store's own key when
// that is made again.
func (s *Store) markShards(ctx context.Context, made string) error {
	if made == isMade {
		return nil
	}
	b := s.batch(scriptBirth, s.requests.id(), "", []byte(s.layout.mark))
	b.part(storeShard, 0)
	if made == beingMade {
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
	_, err := s.stamp(ctx, field{"made", isMade, true})
	return err
}

// emptied is the error for a shard without the mark of its store.
func (s *Store) emptied(shard int) error {
	name := func(shard int) string { return s.layout.name(shard) + "b" }
	other := 0
	if shard == other && s.opt.Shards > 1 {
		other = 1
	}
	return fmt.Errorf("the shard of %s has lost its data: a node came back empty or was emptied; see \"A node lost its data\" in REDIS.md "+
		"(to go on without: redis-cli -c SET '%s' \"$(redis-cli -c GET '%s')\"): %w", name(shard), name(shard), name(other), store.ErrCorrupt)
}

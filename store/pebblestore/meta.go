package pebblestore

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/identityform"
)

// formatVersion is the version of the rows that this package writes and reads. [Upgrade] copies a
// store of an earlier one.
const formatVersion = 4

// Names of the meta rows.
const (
	metaFormat   = 1 // version4
	metaIdentity = 2 // profile | version | key kind | Unicode version
	metaFlags    = 3 // flags1
	metaSecret   = 4 // 48 random bytes, see package seenindex
	metaNext     = 5 // next crawl4 | next generation4
	metaWallTime = 7 // time8, see walltime.go
)

// flagUnicodeHosts means that keys of internationalised hosts were recorded.
const flagUnicodeHosts = 1

// secretLen is the length of the secret that fingerprints are mixed with.
const secretLen = 48

func metaKey(name byte) []byte { return []byte{tableMeta, name} }

func appendNext(dst []byte, crawl, gen uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, crawl), gen)
}

// formatOf returns the format of a database, 0 if it is empty.
func formatOf(db *pebble.DB) (format uint32, err error) {
	err = readRow(db, metaKey(metaFormat), func(row []byte) error {
		if len(row) != 4 {
			return fmt.Errorf("got format row %x; want 4 bytes: %w", row, store.ErrCorrupt)
		}
		format = binary.BigEndian.Uint32(row)
		return nil
	})
	if err != nil || format > 0 {
		return format, corruption(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	if it.First() {
		err = fault.As(store.ErrFormat, "got a Pebble database without our format row")
	}
	return 0, errors.Join(err, it.Close())
}

// loadMeta reads the meta rows into s, or stamps a new database.
func (s *Store) loadMeta() error {
	format, err := formatOf(s.db)
	if err != nil {
		return err
	}
	if format == 0 && s.opt.Mode == OpenOrCreate {
		return s.stampNew()
	}
	if format != s.opt.format {
		return s.opt.otherFormat(format, s.dir)
	}
	rows := map[byte][]byte{}
	err = s.scan([]byte{tableMeta}, rowBound(tableMeta), func(key, value []byte) error {
		rows[key[len(key)-1]] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		return err
	}
	flags, next, secret, identity := rows[metaFlags], rows[metaNext], rows[metaSecret], rows[metaIdentity]
	if len(flags) != 1 || len(next) != 8 || len(secret) != secretLen {
		return fmt.Errorf("cannot read the meta rows; got flags of %d bytes, numbers of %d and a secret of %d; want 1, 8 and %d: %w",
			len(flags), len(next), len(secret), secretLen, store.ErrCorrupt)
	}
	s.unicodeHosts = flags[0]&flagUnicodeHosts != 0
	s.nextCrawl, s.nextGen = binary.BigEndian.Uint32(next), binary.BigEndian.Uint32(next[4:])
	s.secret = [secretLen]byte(secret)
	r := fields.Reader{B: identity}
	id := identityform.Read(&r)
	if r.Bad {
		return fmt.Errorf("cannot read identity; got %x: %w", identity, store.ErrCorrupt)
	}
	s.identity.Store(&id)
	return nil
}

// otherFormat is the error of a store of another format, with the command that helps.
func (o *Options) otherFormat(format uint32, dir string) error {
	if err := o.readable(format); err != nil {
		return err
	}
	return fault.As(store.ErrFormat, "it has format %d, and this program reads format %d; run: firstseen migrate --db %s --to NEW", format, o.format, dir)
}

// stampNew writes the meta rows of a new store, and has Pebble begin another log. Pebble began the
// first one before it raised its format, so that damage to that log looks like a torn write: the offsets
// up to which a log was synced are in those that it begins later.
func (s *Store) stampNew() error {
	_, _ = rand.Read(s.secret[:]) // it never fails
	s.nextCrawl, s.nextGen = 1, 1
	b := s.db.NewBatch()
	defer b.Close()
	for _, row := range []struct {
		name  byte
		value []byte
	}{
		{metaFormat, binary.BigEndian.AppendUint32(nil, s.opt.format)},
		{metaIdentity, identityform.Append(nil, store.Identity{})},
		{metaFlags, []byte{0}},
		{metaSecret, s.secret[:]},
		{metaNext, appendNext(nil, 1, 1)},
	} {
		if err := b.Set(metaKey(row.name), row.value, nil); err != nil {
			return fmt.Errorf("cannot stamp a new store: %w", err)
		}
	}
	return errors.Join(b.Commit(pebble.Sync), s.db.Flush())
}

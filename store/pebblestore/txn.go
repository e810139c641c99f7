package pebblestore

import (
	"cmp"
	"time"
)

// crawl returns the crawl of that name, or nil when there is none and none is
// to be made.
func (tx *txn) crawl(name string, make bool) *crawl {
	s := tx.s
	c := s.crawls[name]
	if c != nil || !make {
		return c
	}
	c = &crawl{num: s.nextCrawl, name: name}
	c.seen = s.newKeySet(c)
	s.nextCrawl++
	s.addCrawl(c)
	tx.set(appendNumbered(nil, tableCrawl, c.num), []byte(name))
	tx.generation(c)
	return c
}

// generation returns the generation that takes new keys of c, which is a new
// one when there is none or the last is old.
func (tx *txn) generation(c *crawl) *generation {
	if n := len(c.gens); n > 0 {
		g := c.gens[n-1]
		if g.keys == 0 || tx.current(g) {
			return g
		}
	}
	return tx.addGeneration(c)
}

func (tx *txn) addGeneration(c *crawl) *generation {
	g := &generation{c: c, num: tx.s.nextGen, created: tx.stamp, last: tx.stamp}
	tx.s.nextGen++
	c.gens = append(c.gens, g)
	tx.touch(g)
	tx.set(metaKey(metaNext), appendNext(nil, tx.s.nextCrawl, tx.s.nextGen))
	return g
}

// current reports whether g is young enough to take new keys. It is not if the clock was
// ahead when g was begun, or it would take them until the clock has got there.
func (tx *txn) current(g *generation) bool {
	age, span := tx.stamp.Sub(g.created), cmp.Or(tx.s.opt.generation, tx.s.retained, 30*24*time.Hour)
	return span < 0 || age >= 0 && age < span
}

// recorded notes that g got n keys now. A key that is recorded while the clock is behind
// must not make it look old.
func (tx *txn) recorded(g *generation, n int64) {
	g.keys += n
	if tx.stamp.After(g.last) {
		g.last = tx.stamp
	}
	tx.touch(g)
}

// touch has the row of g written with the group.
func (tx *txn) touch(g *generation) {
	if !g.dirty {
		g.dirty = true
		tx.dirty = append(tx.dirty, g)
	}
}

// writeGenerations adds the rows of the generations whose counts changed.
func (tx *txn) writeGenerations() {
	for _, g := range tx.dirty {
		if g.dirty {
			g.dirty = false
			tx.set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, g.c.num, g))
		}
	}
}

// unicodeHosts notes that keys of internationalised hosts are in the store.
func (tx *txn) unicodeHosts() {
	if !tx.s.unicodeHosts {
		tx.s.unicodeHosts = true
		tx.set(metaKey(metaFlags), []byte{flagUnicodeHosts})
	}
}

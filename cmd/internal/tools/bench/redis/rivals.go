package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// tagsEach is the number of hash tags of a rival on each master.
const tagsEach = 8

// link is a connection to a master, with the commands to send on it.
type link struct {
	conn    net.Conn
	r       *bufio.Reader
	tags    []string
	buf     []byte
	replies int
	parts   map[string][]store.Item // of a batch, by tag
}

// encodeBatch puts a batch for one master into its buffer.
type encodeBatch func(l *link)

func rival(name string, s settings, known, work [][]store.Item, encode encodeBatch) engine {
	return engine{name, func(ctx context.Context, c *rediscluster.Cluster) (func(context.Context, time.Time) (int64, error), error) {
		pool, err := dialAll(ctx, c, s.callers)
		if err != nil {
			return nil, err
		}
		add := func(_ context.Context, items []store.Item) (int64, error) {
			links := <-pool
			defer func() { pool <- links }()
			return int64(len(items)), send(links, items, encode)
		}
		if _, err := each(ctx, s.callers, known, time.Time{}, add); err != nil {
			return nil, err
		}
		return func(ctx context.Context, until time.Time) (int64, error) {
			return each(ctx, s.callers, work, until, add)
		}, nil
	}}
}

// dialAll connects each caller to each master.
func dialAll(ctx context.Context, c *rediscluster.Cluster, callers int) (chan []*link, error) {
	tags := make([][]string, 3)
	for n := 0; len(tags[0]) < tagsEach || len(tags[1]) < tagsEach || len(tags[2]) < tagsEach; n++ {
		tag := "{" + strconv.Itoa(n) + "}"
		slot, err := c.Nodes[0].Do(ctx, "CLUSTER", "KEYSLOT", tag)
		if err != nil {
			return nil, err
		}
		if m := int(slot.(int64)) * 3 / rediscluster.Slots; len(tags[m]) < tagsEach {
			tags[m] = append(tags[m], tag)
		}
	}
	pool := make(chan []*link, callers)
	for range callers {
		links := make([]*link, 3)
		for i := range links {
			if _, err := c.Nodes[i].Do(ctx, "SCRIPT", "LOAD", script); err != nil {
				return nil, err
			}
			conn, err := net.Dial("tcp", c.Nodes[i].Addr)
			if err != nil {
				return nil, err
			}
			links[i] = &link{conn: conn, r: bufio.NewReaderSize(conn, 1<<20), tags: tags[i]}
		}
		pool <- links
	}
	return pool, nil
}

// send sends a batch, each URL to the master of its host, and reads all replies.
func send(links []*link, items []store.Item, encode encodeBatch) error {
	for _, l := range links {
		l.parts, l.buf, l.replies = make(map[string][]store.Item), l.buf[:0], 0
	}
	for _, it := range items {
		h := hash(it.Queue)
		l := links[h%uint32(len(links))]
		tag := l.tags[h>>8%uint32(len(l.tags))]
		l.parts[tag] = append(l.parts[tag], it)
	}
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() {
			encode(l)
			errs[i] = l.exchange()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}

// exchange writes while it reads: otherwise each side could wait for the other.
func (l *link) exchange() error {
	wrote := make(chan error, 1)
	go func() {
		_, err := l.conn.Write(l.buf)
		wrote <- err
	}()
	for range l.replies {
		if err := l.reply(); err != nil {
			return err
		}
	}
	return <-wrote
}

// reply reads an integer or a text.
func (l *link) reply() error {
	line, err := l.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	switch line[0] {
	case ':':
		return nil
	case '$':
		n, err := strconv.Atoi(string(line[1 : len(line)-2]))
		if err != nil {
			return err
		}
		_, err = io.CopyN(io.Discard, l.r, int64(n+2))
		return err
	}
	return fmt.Errorf("cannot read reply; got %q; want a number or a text", line)
}

func (l *link) command(args ...string) {
	l.buf = fmt.Appendf(l.buf, "*%d\r\n", len(args))
	for _, a := range args {
		l.bulk(a)
	}
	l.replies++
}

func (l *link) bulk(s string) {
	l.buf = append(l.buf, '$')
	l.buf = strconv.AppendInt(l.buf, int64(len(s)), 10)
	l.buf = append(append(append(l.buf, "\r\n"...), s...), "\r\n"...)
}

// bucket is the hash of a key among so many that each has about 64 keys.
func bucket(tag string, k *store.Key) string {
	n := binary.BigEndian.Uint64(k[8:]) % (1_500_000 / 64 / (3 * tagsEach))
	return tag + ":" + strconv.FormatUint(n, 36)
}

func hsetnxBatch(l *link) {
	for tag, part := range l.parts {
		for i := range part {
			l.command("HSETNX", bucket(tag, &part[i].Key), string(part[i].Key[:]), "1")
		}
	}
}

func saddBatch(l *link) {
	for tag, part := range l.parts {
		for i := range part {
			l.command("SADD", tag, string(part[i].Key[:]))
		}
	}
}

// script is that of a prototype: in one atomic step it adds new URLs to the list of the host, and
// the host to the ready hosts.
const script = `local out = {}
for i = 1, #ARGV, 4 do
  local fresh = redis.call('HSETNX', ARGV[i], ARGV[i + 1], '1')
  if fresh == 1 then
    redis.call('RPUSH', KEYS[1] .. 'q' .. ARGV[i + 2], ARGV[i + 3])
    redis.call('ZADD', KEYS[1] .. 'z', 'NX', 0, ARGV[i + 2])
  end
  out[#out + 1] = fresh
end
return table.concat(out)`

func scriptBatch(l *link) {
	for tag, part := range l.parts {
		for ; len(part) > 0; part = part[min(1000, len(part)):] {
			some := part[:min(1000, len(part))]
			l.buf = fmt.Appendf(l.buf, "*%d\r\n", 4+4*len(some))
			for _, a := range []string{"EVALSHA", sha(script), "1", tag} {
				l.bulk(a)
			}
			for i := range some {
				l.bulk(bucket(tag, &some[i].Key))
				l.bulk(string(some[i].Key[:]))
				l.bulk(some[i].Queue)
				l.bulk(some[i].URL)
			}
			l.replies++
		}
	}
}

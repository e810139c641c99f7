package redisstore

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// TestSlots holds the CRC to the check value of the cluster specification, and the shards
// to slots of their own, dealt out evenly.
func TestSlots(t *testing.T) {
	if got := crc16("123456789"); got != 0x31c3 {
		t.Fatalf("got CRC %04x; want 31c3", got)
	}
	for _, shards := range []int{1, 2, 64, 1024, maxShards} {
		l := newLayout("p:", shards)
		for i, base := range l.bases {
			tag := base[len("p:{") : len(base)-1]
			if slot := int(crc16(tag) % slots); slot*shards/slots != i {
				t.Fatalf("got slot %d for shard %d of %d; want it in the shard's share", slot, i, shards)
			}
		}
	}
}

// TestKeysHaveTheirOrder checks that shards are ranges of keys, and places positions in them.
func TestKeysHaveTheirOrder(t *testing.T) {
	l := newLayout("", 64)
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([]store.Key, 1000)
	for i := range keys {
		for j := range keys[i] {
			keys[i][j] = byte(rng.Uint32())
		}
	}
	slices.SortFunc(keys, store.Key.Compare)
	last := uint64(0)
	for _, k := range keys {
		shard, place := l.ofKey(&k)
		at := uint64(shard)<<32 | uint64(bits.Reverse32(place))
		if at < last {
			t.Fatalf("got key %x at %x; want it behind %x", k, at, last)
		}
		last = at
	}
}

// TestQueuesHaveOneHome checks that a queue's hash leads to its home, and is fixed.
func TestQueuesHaveOneHome(t *testing.T) {
	l := newLayout("", 64)
	for i := range 1000 {
		name := fmt.Sprint("host-", i)
		if shard, h := l.ofQueue(store.DefaultCrawl, name); l.ofHash(h) != shard {
			t.Fatalf("got shard %d by name %s and %d by hash", shard, name, l.ofHash(h))
		}
	}
	together := &layout{shards: 64, together: true}
	all, hashes := map[int]bool{}, map[queueHash]bool{}
	for i := range 1000 {
		shard, h := together.ofQueue("c", fmt.Sprint("host-", i))
		all[shard], hashes[h] = true, true
		if together.ofHash(h) != shard {
			t.Fatalf("got shard %d by name and %d by hash", shard, together.ofHash(h))
		}
	}
	if other, _ := together.ofQueue("another", "host-1"); len(all) != 1 || len(hashes) != 1000 || all[other] {
		t.Fatalf("got %d shards and %d hashes for 1,000 queues of a crawl with groups, and shard %d of another; want one shard, 1,000 hashes, and another shard", len(all), len(hashes), other)
	}
	l.secret = []byte("secret")
	if _, h := l.ofQueue(store.DefaultCrawl, "example.org"); fmt.Sprintf("%x", h) != wantHash {
		t.Fatalf("got hash %x of example.org; want %s: stores made before can't be read", h, wantHash)
	}
}

const wantHash = "bb79262d4942"

// TestBucketsStaySmall fills a shard until its buckets were split many times, and holds that
// every bucket is a listpack still and that the keys are all there.
func TestBucketsStaySmall(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 2)
	s := open(t, o)
	defer s.Close()
	ctx := t.Context()
	n := 10_000 // some 131 buckets a shard
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		n = 40_000
	}
	keys := make([]store.Key, n)
	for i := range keys {
		keys[i] = testItem(i, "").Key
	}
	fresh := make([]bool, n)
	for want := range 2 {
		if err := s.See(ctx, "", keys, fresh, store.SeeOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range fresh {
			if fresh[i] != (want == 0) {
				t.Fatalf("got fresh %v for key %d in round %d", fresh[i], i, want)
			}
		}
	}
	slices.SortFunc(keys, store.Key.Compare)
	i := 0
	for k, err := range s.Keys(ctx, "") {
		if err != nil || k != keys[i] {
			t.Fatalf("got key %x, %v as number %d; want %x", k, err, i, keys[i])
		}
		i++
	}
	if i != n {
		t.Fatalf("got %d keys; want %d", i, n)
	}
	buckets := must(only(t, s).Keys(ctx, o.Prefix+"*}h*").Result())(t)
	if len(buckets) < n/60 {
		t.Fatalf("got %d buckets; want about %d", len(buckets), n/38)
	}
	for _, b := range buckets {
		if enc := must(only(t, s).ObjectEncoding(ctx, b).Result())(t); enc != "listpack" {
			t.Fatalf("got bucket %q as %s; want listpack", b, enc)
		}
	}
}

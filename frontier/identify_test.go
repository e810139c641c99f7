package frontier

import (
	"errors"
	"reflect"
	"testing"

	"github.com/firstseen/firstseen/store"
)

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []record{
		{}, {meta: []byte("m")}, {depth: 1}, {depth: 300, hops: 9, disc: "POST", meta: []byte{0, 1}}, {hops: 1}, {disc: "\x00"}, {tries: tries{releases: 3}}, {exempt: true}, {exempt: true, disc: "x", meta: []byte("m")}, {depth: 2, tries: tries{1, 2, 300}, meta: []byte("m")},
		{chain: []store.Key{{1}, {2}}, hops: 2}, {status: 404, reason: ReasonAttempts}, {status: 503, tries: tries{deferrals: 1}, meta: []byte("m")}, {first: 1}, {first: 1<<32 - 1, depth: 3, status: 404}, {reason: "x", chain: []store.Key{{7}}},
	} {
		got, err := decodeRecord(r.encode())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v; want %+v", got, err, r)
		}
		if got, err = decodeRecord(r.replacing()); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v from replacing; want %+v", got, err, r)
		}
		if r.replacing() == nil {
			t.Errorf("got nil to replace with; want bytes, nil keeps what is there")
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(record{depth: 7, hops: 2, disc: "x", meta: []byte("z")}.encode())
	f.Add([]byte{0xff})
	f.Add([]byte{4, 200, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("got %v; want ErrCorrupt", err)
			}
			return
		}
		if again, err := decodeRecord(r.encode()); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("got %+v, %v; want %+v", again, err, r)
		}
	})
}

// FuzzKeyOf looks for two identities with one key: since keys are hashes, that
// means two identities with the same bytes before hashing.
func FuzzKeyOf(f *testing.F) {
	f.Add("http://a/", true, "a", "", "http://a/", true, "a", "x")
	f.Add("ab", true, "c", "", "a", true, "bc", "")
	f.Add("a", true, "\x00", "\x00", "a\x00", true, "", "\x00")
	f.Add("a", false, "q", "d", "a", false, "other", "d")
	f.Fuzz(func(t *testing.T, a string, exactA bool, queueA, discA, b string, exactB bool, queueB, discB string) {
		if len(queueA) > store.MaxQueueKey || len(queueB) > store.MaxQueueKey || exactA != exactB {
			return
		}
		if !exactA {
			queueA, queueB = "", "" // not part of the identity
			if discA == "" || discB == "" {
				return // plain forms have no zero byte, which this can't know
			}
		}
		same := a == b && queueA == queueB && discA == discB
		if got := keyOf([]byte(a), exactA, queueA, discA) == keyOf([]byte(b), exactB, queueB, discB); got != same {
			t.Fatalf("got equal keys %v; want %v", got, same)
		}
	})
}

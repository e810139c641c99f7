package pebblestore

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// killDir in the environment makes the test binary the child of TestKill.
const killDir = "FIRSTSEEN_KILL_DIR"

// killIndex is the child's IndexBytes.
const killIndex = "FIRSTSEEN_KILL_INDEX"

// killOptions are small tables and small runs.
func killOptions(index int64) Options {
	return Options{IndexBytes: index, tuning: tuning{memTableBytes: 1 << 20, tableBytes: 1 << 20, flushKeys: 5000}}
}

// TestKill repeatedly kills a process under load, each time at the n-th acknowledgement, which this
// process records, and checks that every acknowledged key is there.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		childLoad(dir)
		return
	}
	dir := t.TempDir()
	rng := newRand(11)
	rounds := tortureCount(t, 3, 300)
	acked, offset := map[store.Key]bool{}, 0
	for round := range rounds {
		index := []int64{0, -1, 1 << 20}[round%3]
		for _, k := range killed(t, dir, index, offset, 1+rng.IntN(400)) {
			if acked[k] {
				t.Fatalf("%x was called new twice", k)
			}
			acked[k] = true
		}
		offset += 1_000_000
		s := mustOpen(t, dir, killOptions(index))
		n := 0
		for k, err := range s.Keys(context.Background(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if acked[k] {
				n++
			}
		}
		if n != len(acked) {
			t.Fatalf("%d of %d acknowledged keys are lost", len(acked)-n, len(acked))
		}
		if offset%10_000_000 == 0 || rounds < 10 {
			wantSound(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d acknowledged keys", rounds, len(acked))
}

// killed runs a child on dir, kills it after some acknowledgements and returns the keys that were
// answered new.
func killed(t *testing.T, dir string, index int64, offset, acks int) (keys []store.Key) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), killDir+"="+dir, fmt.Sprintf("%s=%d", killIndex, index), fmt.Sprintf("FIRSTSEEN_KILL_OFFSET=%d", offset))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == acks {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		batch, err := readAck(r)
		if err != nil {
			break // the output before its end was read
		}
		keys = append(keys, batch...)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return keys
}

// readAck reads an acknowledgement: the number of new keys, then the keys.
func readAck(r io.Reader) ([]store.Key, error) {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	keys := make([]store.Key, n)
	for i := range keys {
		if _, err := io.ReadFull(r, keys[i][:]); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// childLoad adds batches from several goroutines and reports each on stdout,
// in one write, when it was acknowledged.
func childLoad(dir string) {
	var offset int
	fmt.Sscan(os.Getenv("FIRSTSEEN_KILL_OFFSET"), &offset)
	var index int64
	fmt.Sscan(os.Getenv(killIndex), &index)
	s, err := openPrepared(dir, killOptions(index))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				from := offset + (w%2)*500_000 + 200*i // two goroutines offer the same keys
				ack := addAndReport(s, testKeys(from, from+300))
				out.Lock()
				_, err := os.Stdout.Write(ack)
				out.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

func addAndReport(s *Store, keys []store.Key) []byte {
	fresh := make([]bool, len(keys))
	if err := s.See(context.Background(), "", keys, fresh, store.SeeOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ack := make([]byte, 4)
	n := uint32(0)
	for i, f := range fresh {
		if f {
			n++
			ack = append(ack, keys[i][:]...)
		}
	}
	binary.BigEndian.PutUint32(ack, n)
	return ack
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// Ours: with an index in memory, and with runs alone.
const firstseen, runs = "firstseen", "runs"

var oursAll = []string{firstseen, runs}

func rivals(tmp string) []rival {
	list := []rival{
		{firstseen, openPebblestore(pebblestore.Options{})},
		{runs, openPebblestore(pebblestore.Options{IndexBytes: -1})},
		{"bbolt", openBolt},
	}
	for _, r := range []struct{ name, define, lib string }{{"rocksdb", "-DROCKSDB", "-lrocksdb"}, {"sqlite", "-DSQLITE", "-lsqlite3"}} {
		program := filepath.Join(tmp, r.name+".program")
		out, err := exec.Command("g++", "-O2", "-std=c++17", r.define, "-o", program, "cpp/rival.cc", r.lib, "-pthread").CombinedOutput()
		if err != nil {
			fmt.Printf("%s takes no part: %v: %s\n", r.name, err, bytes.SplitN(out, []byte("\n"), 2)[0])
			continue
		}
		list = append(list, rival{r.name, func(dir string) (engine, error) { return openProgram(program, dir) }})
	}
	return list
}

func openPebblestore(opt pebblestore.Options) func(string) (engine, error) {
	return func(dir string) (engine, error) {
		s, err := pebblestore.Open(dir, opt)
		if err != nil {
			return nil, err
		}
		return storebench.Pebble{Store: s}, s.Prepare(context.Background(), store.Terms{Identity: store.IdentityOf(canon.Qiita())})
	}
}

// bolt is bbolt with one bucket.
type bolt struct{ db *bbolt.DB }

func openBolt(dir string) (engine, error) {
	db, err := bbolt.Open(filepath.Join(dir, "seen"), 0o600, nil)
	if err != nil {
		return nil, err
	}
	return bolt{db}, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists([]byte("seen"))
		return err
	})
}

func (b bolt) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return bytes.Compare(keys[i][:], keys[j][:]) })
	return b.db.Update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte("seen"))
		bucket.FillPercent = 0.9
		for _, i := range order {
			if fresh[i] = bucket.Get(keys[i][:]) == nil; fresh[i] {
				if err := bucket.Put(keys[i][:], []byte{}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (bolt) CPU() time.Duration { return 0 }

func (bolt) Compacts() (bool, error) { return false, nil }

func (b bolt) Close() error { return b.db.Close() }

// program is a rival in another process: see cpp/rival.cc. It answers many calls at the same time.
type program struct {
	cmd *exec.Cmd
	cpu atomic.Int64 // µs

	mu      sync.Mutex
	in      io.WriteCloser
	calls   uint32
	waiting map[uint32]chan []byte // by the number of the call; nil when the program has ended
}

func openProgram(path, dir string) (engine, error) {
	p := &program{cmd: exec.Command(path, dir), waiting: map[uint32]chan []byte{}}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(bufio.NewReaderSize(out, 1<<20))
	return p, nil
}

// read passes answers on until the program ends.
func (p *program) read(out io.Reader) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(out, head[:]); err != nil {
			break
		}
		answer := make([]byte, binary.BigEndian.Uint32(head[4:])+8)
		if _, err := io.ReadFull(out, answer); err != nil {
			break
		}
		call := binary.BigEndian.Uint32(head[:])
		p.mu.Lock()
		p.waiting[call] <- answer
		delete(p.waiting, call)
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = nil
}

func (p *program) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	return p.ask(keys, fresh)
}

func (p *program) Compacts() (bool, error) {
	var busy [1]bool
	err := p.ask(nil, busy[:])
	return busy[0], err
}

// ask sends keys, or the question whether it compacts, and waits for the answers.
func (p *program) ask(keys []hashkey.UrlShortHash, answers []bool) error {
	c, err := p.send(keys)
	if err != nil {
		return err
	}
	answer, ok := <-c
	if n := len(answers); !ok || len(answer) != n+8 {
		return fmt.Errorf("%s ended, or gave %d bytes; want %d", p.cmd.Path, len(answer), n+8)
	}
	for i := range answers {
		answers[i] = answer[i] == 1
	}
	p.cpu.Store(int64(binary.BigEndian.Uint64(answer[len(answers):])))
	return nil
}

func (p *program) send(keys []hashkey.UrlShortHash) (chan []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		return nil, fmt.Errorf("%s has ended", p.cmd.Path)
	}
	p.calls++
	c := make(chan []byte, 1)
	p.waiting[p.calls] = c
	buf := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(keys)*len(hashkey.UrlShortHash{})), p.calls)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(keys)))
	for i := range keys {
		buf = append(buf, keys[i][:]...)
	}
	_, err := p.in.Write(buf)
	return c, err
}

func (p *program) CPU() time.Duration { return time.Duration(p.cpu.Load()) * time.Microsecond }

func (p *program) Close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}

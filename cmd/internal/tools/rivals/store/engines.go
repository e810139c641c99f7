package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/hashkey"
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
		out, err := exec.Command("g++", "-O2", "-std=c++17", r.define, "-o", program, "cpp/rival.cc", r.lib).CombinedOutput()
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
		return storebench.Pebble{Store: s}, err
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

// program is a rival in another process: see cpp/rival.cc.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	cpu time.Duration
	buf []byte
}

func openProgram(path, dir string) (engine, error) {
	p := &program{cmd: exec.Command(path, dir)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p, p.cmd.Start()
}

func (p *program) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	return p.ask(keys, fresh)
}

func (p *program) Compacts() (bool, error) {
	var busy [1]bool
	err := p.ask(nil, busy[:])
	return busy[0], err
}

// ask sends keys, or the question whether it compacts, and reads the answers.
func (p *program) ask(keys []hashkey.UrlShortHash, answers []bool) error {
	p.buf = binary.BigEndian.AppendUint32(p.buf[:0], uint32(len(keys)))
	for i := range keys {
		p.buf = append(p.buf, keys[i][:]...)
	}
	if _, err := p.in.Write(p.buf); err != nil {
		return err
	}
	n := len(answers)
	read := slices.Grow(p.buf[:0], n+8)[:n+8]
	if _, err := io.ReadFull(p.out, read); err != nil {
		return err
	}
	for i := range answers {
		answers[i] = read[i] == 1
	}
	p.cpu = time.Duration(binary.BigEndian.Uint64(read[n:])) * time.Microsecond
	return nil
}

func (p *program) CPU() time.Duration { return p.cpu }

func (p *program) Close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}

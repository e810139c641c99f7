package transfer

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// Journal is a file that records the progress of each import. It is written after the keys are
// durable: if its last lines are lost, those records are read again, and count as seen before.
// It is not safe for concurrent use.
type Journal struct {
	file *os.File // nil: nothing is noted
	done map[journalKey]entry
}

// journalKey is a file, the crawl it goes into, and how it is read.
type journalKey struct{ file, crawl, how string }

// entry is a line of the journal.
type entry struct {
	File     string    `json:"file"` // absolute
	Crawl    string    `json:"crawl"`
	How      string    `json:"how"`  // "" in journals that didn't record it: no import is like that
	Mark     string    `json:"mark"` // of the file up to its size then
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Records  int64     `json:"records"`
	Whole    bool      `json:"whole"`
}

func (e *entry) key() journalKey { return journalKey{e.File, e.Crawl, e.How} }

// OpenJournal opens or creates the journal in a directory. Use the directory of the store, so that
// the two are moved together. With "" the progress is not kept.
func OpenJournal(dir string) (*Journal, error) {
	if dir == "" {
		return &Journal{}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the journal of imports: %w", err)
	}
	name := filepath.Join(dir, "imports.jsonl")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open journal of imports: %w", err)
	}
	j := &Journal{file: file, done: map[journalKey]entry{}}
	if err := errors.Join(j.read(file), endLine(file)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read journal of imports: %w", err), file.Close())
	}
	return j, nil
}

// maxEntry bounds a line of a journal in bytes.
const maxEntry = 1 << 20

// read reads the entries. A line that was cut off or damaged, or that is too long to be one, is of no import.
func (j *Journal) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, tooLong, err := logs.ReadLine(in, maxEntry)
		var e entry
		if tooLong == 0 && durable.Unmarshal(line, &e) == nil {
			j.done[e.key()] = e
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// endLine ends a line that was cut off, so that the next one stands by itself.
func endLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err = file.ReadAt(last, size-1); err == nil && last[0] != '\n' {
		_, err = file.Write([]byte{'\n'})
	}
	return err
}

// Close closes the journal.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// Part is one import of one file.
type Part struct {
	j     *Journal
	e     entry
	wrote time.Time
	known bool
}

// Begin returns the record from which the import of a file into a crawl starts, and whether the
// file is done. how lists the options that select records, since other options may select
// other records. A file that has grown continues where it ended. A file that was changed in
// another way, and anything that is not a regular file, starts from its beginning; with again, each does.
func (j *Journal) Begin(name, crawl, how string, again bool) (p *Part, from int64, whole bool) {
	p = &Part{j: j, wrote: time.Now()}
	path, err := filepath.Abs(name)
	if err != nil || name == "-" || j.file == nil {
		return p, 0, false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return p, 0, false
	}
	p.e = entry{File: path, Crawl: crawl, How: how, Size: info.Size(), Modified: info.ModTime().UTC()}
	if p.e.Mark, err = mark(path, p.e.Size); err != nil {
		return p, 0, false
	}
	p.known = true
	was, ok := j.done[p.e.key()]
	same := was.Size == p.e.Size && was.Modified.Equal(p.e.Modified)
	if again || !ok || !same && was.Size >= p.e.Size || !was.begins(path) {
		return p, 0, false
	}
	p.e.Records = was.Records
	return p, was.Records, same && was.Whole
}

// begins reports whether the file of an entry is still what a file begins with.
func (e *entry) begins(path string) bool {
	m, err := mark(path, e.Size)
	return err == nil && m == e.Mark
}

// markBytes is how many bytes at each end make a mark.
const markBytes = 4096

// mark is a hash of both ends of the first size bytes of a file. The first end changes if a new
// log has the name of an older one; the last end, if a sorted index was written again with more
// lines.
func mark(path string, size int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h, n := sha256.New(), min(size, markBytes)
	for _, from := range []int64{0, size - n} {
		if _, err := io.CopyN(h, io.NewSectionReader(file, from, n), n); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkpointEvery is how often the journal is written on the way.
const checkpointEvery = 5 * time.Second

// Checkpoint notes that the first records of the file, up to the given number, are recorded. Before an import comes to where it starts from,
// what earlier ones recorded still is.
func (p *Part) Checkpoint(records int64) error {
	p.e.Records = max(p.e.Records, records)
	if time.Since(p.wrote) < checkpointEvery {
		return nil
	}
	return p.write()
}

// End notes the progress of the import. whole means that the file was read to its end.
func (p *Part) End(whole bool) error {
	p.e.Whole = whole
	return p.write()
}

func (p *Part) write() error {
	if !p.known {
		return nil
	}
	line, err := durable.Marshal(p.e)
	if err == nil {
		_, err = p.j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot write journal of imports: %w", err)
	}
	p.wrote = time.Now()
	p.j.done[p.e.key()] = p.e
	return nil
}

package hasheduri

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// List is a set of hashed URIs: an exclusion list that does not reveal its URLs. Its Excluded
// method serves as frontier.Options.Exclude. It is immutable, and safe for concurrent use. It needs 20 bytes of
// memory for each entry of sha1.
type List struct {
	hasher Hasher
	groups []group // of one form each, those with equal flags side by side
	pool   sync.Pool
}

// group are the entries of one form: a URL needs one digest for all of them.
type group struct {
	form
	digests digests
}

// form is what entries share.
type form struct {
	query, fragment bool
	algorithm       string
}

// ReadList reads a text file with a hashed URI a line. Empty lines and lines that begin with
// "#" do not count, nor does space around a URI. The hasher has the variant that the entries
// were made with, and knows their private algorithms; its Algorithm and Keep
// fields do not matter. The error names the line.
//
// While it reads, it needs about twice the memory that the list will have.
func ReadList(r io.Reader, h Hasher) (*List, error) {
	flat := map[form][]byte{} // digests one after another
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := addLine(flat, h.Algorithms, strings.TrimSpace(lines.Text())); err != nil {
			return nil, fmt.Errorf("cannot read list; line %d: %w", n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("cannot read list; line %d: got more than %d bytes; want a hashed URI: %w", n+1, maxLine, err)
	} else if err != nil {
		return nil, fmt.Errorf("cannot read list after line %d: %w", n, err)
	}
	l := &List{hasher: h, pool: sync.Pool{New: func() any { return new([]byte) }}}
	for f, all := range flat {
		size, err := h.Algorithms.size(f.algorithm)
		if err != nil {
			return nil, err
		}
		l.groups = append(l.groups, group{f, newDigests(all, size)})
	}
	slices.SortFunc(l.groups, func(a, b group) int { return strings.Compare(fmt.Sprint(a.form), fmt.Sprint(b.form)) })
	return l, nil
}

// maxLine is far more than a digest of any algorithm takes, in bytes.
const maxLine = 64 << 10

func addLine(flat map[form][]byte, algorithms Algorithms, line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	u, err := Parse(line)
	if err != nil {
		return err
	}
	size, err := algorithms.size(u.Algorithm)
	if err != nil {
		return err
	}
	if len(u.Hash) != 2*size {
		return refuse(line, fmt.Sprintf("a hash of %d digits", 2*size), ErrHashLength)
	}
	f := form{u.Query, u.Fragment, u.Algorithm}
	flat[f], err = hex.AppendDecode(flat[f], []byte(u.Hash))
	return err
}

// Len is the number of different entries.
func (l *List) Len() (n int) {
	for _, g := range l.groups {
		n += g.digests.Len()
	}
	return n
}

// Match returns an entry that excludes this URL, if there is one. The URL is brought into
// canonical form once for each combination of flags in the list, and hashed once for
// each algorithm with them, however many entries there are. A relative reference
// matches nothing.
func (l *List) Match(url string) (entry URI, ok bool) {
	buf := l.pool.Get().(*[]byte)
	defer l.pool.Put(buf)
	form := -1 // the group whose form is in buf
	end := 0   // of that form
	for i := range l.groups {
		g := &l.groups[i]
		var err error
		if form < 0 || g.query != l.groups[form].query || g.fragment != l.groups[form].fragment {
			if *buf, _, err = l.hasher.appendForm((*buf)[:0], url, g.query, g.fragment); err != nil {
				return URI{}, false
			}
			form, end = i, len(*buf)
		}
		if *buf, err = l.hasher.Algorithms.appendDigest((*buf)[:end], g.algorithm, (*buf)[:end]); err != nil {
			return URI{}, false
		}
		if digest := (*buf)[end:]; g.digests.has(digest) {
			return URI{g.algorithm, hex.EncodeToString(digest), g.fragment, g.query}, true
		}
	}
	return URI{}, false
}

// Excluded reports whether an entry of the list excludes this URL, for a crawler that has only
// canonical forms. Their path is never empty, while the draft keeps "http://h" and "http://h/"
// apart. So if the path is empty or "/", Excluded looks up both.
func (l *List) Excluded(url string) bool {
	if _, ok := l.Match(url); ok {
		return true
	}
	bare, ok := withoutRoot(url)
	if ok {
		_, ok = l.Match(bare)
	}
	return ok
}

// withoutRoot drops a path that is "/" alone; ok reports whether there was one.
func withoutRoot(url string) (bare string, ok bool) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return "", false
	}
	authority, path := whatwg.CutBefore(rest, "/?#")
	if path, ok = strings.CutPrefix(path, "/"); !ok || authority == "" || path != "" && path[0] != '?' && path[0] != '#' {
		return "", false
	}
	return scheme + "://" + authority + path, true
}

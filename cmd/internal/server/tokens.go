package server

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
)

// minToken is the least length of a token: 16 random letters and digits are 95
// bits.
const minToken = 16

// tokens answers what a bearer token allows. It keeps only digests of
// tokens, so that no log, dump or timing of comparisons reveals one. Safe for
// concurrent use.
type tokens struct {
	file string
	set  atomic.Pointer[grants]
}

// grants is what each token allows, by the digest of the token.
type grants map[[sha256.Size]byte]*grant

// loadTokens reads a token file: a scope, a token and what bounds it a line, separated by
// blanks; empty lines and lines that begin with # are skipped. For an
// empty name it returns nil, which allows everything.
func loadTokens(file string) (*tokens, error) {
	if file == "" {
		return nil, nil
	}
	t := &tokens{file: file}
	return t, t.reload()
}

// reload reads the file again; on error the tokens stay as they were.
func (t *tokens) reload() error {
	if t == nil {
		return nil
	}
	f, err := os.Open(t.file)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot read tokens: %w; let the daemon's user read the file, or under systemd pass it with LoadCredential= (deploy/credentials.conf)", err)
	}
	if err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("cannot use tokens of %s; got mode %v; want no access for others (chmod o=)", t.file, info.Mode().Perm())
	}
	set := make(grants)
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		if err := addToken(set, scan.Text()); err != nil {
			return fmt.Errorf("%s line %d: %w", t.file, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	if len(set) == 0 {
		return fmt.Errorf("cannot use tokens of %s; got none; want a line such as: write <token>", t.file)
	}
	if before := t.set.Load(); before != nil {
		for digest, g := range set {
			if was := (*before)[digest]; was != nil {
				g.adds, g.leases = g.adds.keep(was.adds), g.leases.keep(was.leases)
			}
		}
	}
	t.set.Store(&set)
	return nil
}

// addToken never puts a token into an error.
func addToken(set grants, line string) error {
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return nil
	}
	if len(fields) < 2 {
		return fmt.Errorf("cannot read token; got %d words; want a scope and a token", len(fields))
	}
	scope, err := parseScope(fields[0])
	if err != nil {
		return err
	}
	if len(fields[1]) < minToken {
		return fmt.Errorf("cannot use token; got %d bytes; want at least %d", len(fields[1]), minToken)
	}
	digest := sha256.Sum256([]byte(fields[1]))
	if set[digest] != nil {
		return errors.New("cannot use token; an earlier line has the same token")
	}
	g := &grant{scope: scope, name: "token-" + hex.EncodeToString(digest[:4])}
	for _, word := range fields[2:] {
		if err := g.set(word); err != nil {
			return err
		}
	}
	set[digest] = g
	return nil
}

// find returns the digest of the token in an Authorization header, and its grant: nil
// without a token, and for a wrong one.
func (t *tokens) find(header string) (digest [sha256.Size]byte, have *grant) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return digest, nil
	}
	digest = sha256.Sum256([]byte(strings.TrimSpace(token)))
	return digest, t.of(digest)
}

// of returns what the token of a digest allows, nil for an unknown one.
func (t *tokens) of(digest [sha256.Size]byte) *grant { return (*t.set.Load())[digest] }

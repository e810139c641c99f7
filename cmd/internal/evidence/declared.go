package evidence

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/captures"
)

// Rules that hosts declare of their own parameters, by No-Vary-Search and Clean-param. The hosts are those of trust_declared
// in the rule file. A No-Vary-Search field holds for the path of its response only. A Clean-param line holds for the paths
// that it names. The latest declaration of a path, or of a robots.txt, replaces the ones before. A response that declares
// nothing changes nothing.
//
// To read a declaration, and to check that a rule file can have it, takes longer than the rest of a settlement. So Offer only
// notes its text, and Run reads what is new, all at once, and makes the next profile of it: the rule file with
// the declared entries behind its own. They are saved first, because keys depend on them: none is in use that a restart would
// lose. If that fails, Run tries it again.

// maxDeclared bounds the text of all declarations, in bytes. Each takes about twice its text in memory.
const maxDeclared = 4 << 20

// maxTold bounds the declarations that are known to be of no use; each takes some 20 bytes. Then all are forgotten, and the next
// fetch of each is read again: they must not take the room of declarations that are rules.
const maxTold = 1 << 16

// place is where a declaration was made: the path of a response, or "" for the robots.txt of the host.
type place struct{ host, path string }

// said is what a place declared.
type said struct {
	text    string               // the latest; "" of what an earlier process saved
	read    bool                 // the entries are those of the text, not of the one before
	entries []wire.DeclaredEntry // that a rule file can have
	revoked []string             // patterns of entries that are not used, now or later
	size    int                  // bytes of place and text
}

// rules are the declarations of the trusted hosts. Evidence.mu is held.
type rules struct {
	trusted *canon.URLSet // nil for no host
	hosts   int           // of these, as the rule file lists them
	places  map[place]said
	told    map[uint64]bool // hashes of place and text: true for a text without entries, false for one without room
	size    int
	refused int64
	last    error
}

// ruleFile is what the declared rules are added to. Evidence.applying is held.
type ruleFile struct {
	base    *canon.Profile // without the file
	with    *canon.Profile // with it
	fields  map[string]any // of its object
	loaded  bool           // what was saved is
	pending bool           // entries changed that are not saved yet, or not in use
}

// TrustedHosts returns the hosts whose declarations are rules, as the text of a rule file that canon has accepted names them.
func TrustedHosts(text []byte) []string {
	var file struct {
		Trust []string `json:"trust_declared"`
	}
	_ = json.Unmarshal(text, &file) // an empty text has none
	return file.Trust
}

// SetRules uses a rule file: its text, and the profile without and with it. What hosts declared that are not trusted any more is
// forgotten, and what an earlier process saved of those that are is loaded. After an error all is as before.
func (e *Evidence) SetRules(base, with *canon.Profile, text []byte) error {
	e.applying.Lock()
	defer e.applying.Unlock()
	var fields map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &fields); err != nil {
			return fmt.Errorf("cannot read the rule file: %w", err)
		}
	}
	hosts := TrustedHosts(text)
	if e.opt.Off {
		hosts = nil
	}
	var trusted *canon.URLSet
	if len(hosts) > 0 {
		var err error
		if trusted, err = canon.ParseURLSet([]byte(strings.Join(hosts, "\n"))); err != nil {
			return fmt.Errorf("cannot read trust_declared of the rule file: %w", err)
		}
	}
	file := ruleFile{base: base, with: with, fields: fields, loaded: e.file.loaded}
	var saved []wire.Declared
	if !file.loaded && trusted != nil {
		var err error
		if saved, err = e.load(trusted); err != nil {
			return fmt.Errorf("cannot read what trusted hosts declared from %s; remove it, and URLs of these hosts may be fetched once more: %w", e.opt.Saved, err)
		}
		file.loaded = true
	}
	was := e.Declared()
	list := slices.DeleteFunc(slices.Clone(was), func(s wire.Declared) bool { return !trusts(trusted, s.Host) })
	if e.file.pending || len(list) < len(was) {
		if err := e.save(list); err != nil {
			return err
		}
	}
	if err := e.apply(&file, append(list, saved...)); err != nil { // one of the two is empty
		e.file.pending = true // the file may lack what stays in use
		e.wake()
		return err
	}
	e.file = file
	e.trust(trusted, len(hosts), saved)
	return nil
}

// trust replaces the list of trusted hosts, forgets what others declared, and adds what was saved.
func (e *Evidence) trust(trusted *canon.URLSet, hosts int, saved []wire.Declared) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.rules
	r.trusted, r.hosts = trusted, hosts
	e.trusts.Store(trusted != nil)
	for p, was := range r.places {
		if !trusts(trusted, p.host) {
			r.size -= was.size
			delete(r.places, p)
		}
	}
	for _, s := range saved {
		size := len(s.Host) + len(s.Path) + 64
		for _, entry := range s.Entries {
			written, _ := json.Marshal(entry) // it was read from JSON
			size += len(written)
		}
		r.places[place{s.Host, s.Path}] = said{read: true, entries: s.Entries, revoked: s.Revoked, size: size}
		r.size += size
	}
}

// trusts reports whether a host is trusted.
func trusts(trusted *canon.URLSet, host string) bool {
	if trusted == nil {
		return false
	}
	_, has := trusted.Has([]byte("http://" + host + "/"))
	return has
}

// hear notes what a fetch declares, given its canonical form.
func (e *Evidence) hear(form string, f *captures.Capture) {
	host, path := hostAndPath(form)
	if !trusts(e.rules.trusted, host) {
		return
	}
	if f.NoVarySearch != "" {
		e.note(place{host, path}, f.NoVarySearch)
	}
	if f.CleanParam != "" && declared.IsRobots(f.URL) {
		e.note(place{host, ""}, f.CleanParam)
	}
}

func (e *Evidence) note(p place, text string) {
	r := &e.rules
	was, ok := r.places[p]
	if was.text == text {
		return
	}
	id := e.hashOf(p, text)
	useless, told := r.told[id]
	if useless && !ok {
		return
	}
	size := len(p.host) + len(p.path) + len(text) + 64
	if r.size+size-was.size > maxDeclared {
		if told {
			return
		}
		r.tell(id, false)
		r.refuse(p, fmt.Errorf("the declarations of all hosts together would have more than %d bytes", maxDeclared))
		return
	}
	r.size += size - was.size
	was.text, was.read, was.size = strings.Clone(text), false, size
	r.places[p] = was
	e.wake()
}

// wake has Run look for what is new.
func (e *Evidence) wake() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

func (e *Evidence) hashOf(p place, text string) uint64 {
	return maphash.Comparable(e.seed, [3]string{p.host, p.path, text})
}

// tell notes that a declaration is useless, or has no room, so that it is read and counted once.
func (r *rules) tell(id uint64, useless bool) {
	if r.told == nil || len(r.told) >= maxTold {
		r.told = make(map[uint64]bool)
	}
	r.told[id] = useless
}

func (r *rules) refuse(p place, why error) {
	r.refused++
	r.last = fmt.Errorf("cannot use all that %s%s declares: %w", p.host, cmp.Or(p.path, "/robots.txt"), why)
}

// Each change of the profile reads all rules again. Between two changes are at least applyEvery
// and applyShare times as long as the last one took, so that a site with many rules cannot keep a
// core busy.
const (
	applyEvery = time.Second
	applyShare = 20
	retryEvery = time.Minute // if they cannot be saved or used
)

// Run uses and saves declared rules as they come, until ctx ends.
func (e *Evidence) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
		}
		began, least := time.Now(), applyEvery
		if changed, err := e.adopt(); err != nil {
			least = retryEvery
			e.wake()
			e.opt.Logger.Error("cannot use the rules that trusted hosts declare; the earlier rules stay in use", "error", err)
		} else if changed {
			s := e.Stats()
			e.opt.Logger.Info("the rules that trusted hosts declare are in use", "rules", s.Rules, "left_out", s.Refused, "last_left_out", s.Last)
		}
		_ = async.Sleep(ctx, max(least, applyShare*time.Since(began)))
	}
}

// adopt reads the declarations that are new, and saves and uses their rules if there are others now, or were when that failed.
func (e *Evidence) adopt() (changed bool, err error) {
	e.applying.Lock()
	defer e.applying.Unlock()
	e.mu.Lock()
	fresh := map[place]string{}
	for p, s := range e.rules.places {
		if !s.read {
			fresh[p] = s.text
		}
	}
	e.mu.Unlock()
	for p, text := range fresh {
		entries, refused := read(p, text)
		if e.replace(p, text, entries, refused) {
			e.file.pending = true
		}
	}
	if !e.file.pending {
		return false, nil
	}
	_, err = e.saveAndApply()
	return true, err
}

// saveAndApply uses the rules that are declared by now, and returns them.
func (e *Evidence) saveAndApply() (list []wire.Declared, err error) {
	list = e.Declared()
	if err = e.save(list); err == nil {
		err = e.apply(&e.file, list)
	}
	e.file.pending = err != nil // the file may have what is not in use
	return list, err
}

// replace sets the entries of a place to those of its text, unless it declared another since.
func (e *Evidence) replace(p place, text string, entries []wire.DeclaredEntry, refused error) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if refused != nil {
		e.rules.refuse(p, refused)
	}
	was, ok := e.rules.places[p]
	if !ok || was.text != text {
		return false
	}
	changed = !reflect.DeepEqual(was.entries, entries)
	if was.entries, was.read = entries, true; len(entries)+len(was.revoked) > 0 {
		e.rules.places[p] = was
	} else {
		e.rules.size -= was.size
		delete(e.rules.places, p)
		e.rules.tell(e.hashOf(p, text), true)
	}
	return changed
}

// Revoke takes the entries of a place with a pattern out of use, and those that it declares later; with revoked false it takes that back.
// The error is store.ErrNotFound if there are none, or why the rules cannot be saved or used; then they stay as they were.
func (e *Evidence) Revoke(host, path, pattern string, revoked bool) (is wire.Declared, err error) {
	e.applying.Lock()
	defer e.applying.Unlock()
	p := place{host, path}
	was, ok := e.setRevoked(p, pattern, revoked)
	if !ok {
		return is, fault.As(store.ErrNotFound, "cannot revoke a declared rule; %s declares none with the pattern %q; GET /v1/declared lists them", host+path, pattern)
	}
	list, err := e.saveAndApply()
	if err != nil {
		_, _ = e.setRevoked(p, pattern, was) // it was there
		e.wake()
		return is, err
	}
	i := slices.IndexFunc(list, func(d wire.Declared) bool { return d.Host == host && d.Path == path })
	if i < 0 { // nothing is left of it
		return wire.Declared{Host: host, Path: path, Entries: []wire.DeclaredEntry{}}, nil
	}
	return list[i], nil
}

// setRevoked returns whether the entries were revoked before; ok is false if there are none.
func (e *Evidence) setRevoked(p place, pattern string, revoked bool) (was, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.rules.places[p]
	was = slices.Contains(s.revoked, pattern)
	if !was && !slices.ContainsFunc(s.entries, func(e wire.DeclaredEntry) bool { return e.Pattern == pattern }) {
		return false, false
	}
	s.revoked = slices.DeleteFunc(slices.Clone(s.revoked), func(p string) bool { return p == pattern })
	if revoked {
		s.revoked = append(s.revoked, pattern)
	}
	if e.rules.places[p] = s; s.read && len(s.entries)+len(s.revoked) == 0 {
		e.rules.size -= s.size
		delete(e.rules.places, p)
	}
	return was, true
}

// read returns the entries for what a place declares, and why something of it is left out.
func read(p place, text string) (entries []wire.DeclaredEntry, refused error) {
	add := func(e wire.DeclaredEntry, err error) {
		if err == nil && (len(e.Drop) > 0 || e.Keep != nil) {
			if err = check(e); err == nil {
				entries = append(entries, e)
			}
		}
		refused = errors.Join(refused, err)
	}
	if p.path == "" {
		lines, err := declared.ParseCleanParams(text)
		for _, line := range lines {
			add(ofCleanParam(p.host, line))
		}
		return entries, errors.Join(refused, err)
	}
	s, err := declared.ParseNoVarySearch(text)
	e := wire.DeclaredEntry{Host: p.host, Pattern: p.path + "$", Source: "No-Vary-Search"}
	switch {
	case err != nil || s.IsDefault():
		return nil, err
	case strings.ContainsAny(p.path, "*$"):
		return nil, fmt.Errorf("the path %q contains %q, which a pattern cannot", p.path, "*$")
	case s.OnlyListed:
		names, err := written(s.Matter)
		e.Keep = &names
		add(e, err) // without one of the names the rest would drop a parameter that matters
	default:
		e.Drop, refused = written(s.Ignored)
		add(e, nil)
	}
	return entries, refused
}

// ofCleanParam returns the entry for a line. A pattern of Clean-param can also match the query; one
// that must is refused.
func ofCleanParam(host string, rule declared.CleanParam) (wire.DeclaredEntry, error) {
	if strings.ContainsAny(rule.Path, "?#$\\") {
		return wire.DeclaredEntry{}, fmt.Errorf("the path of Clean-param %q contains one of \"?#$\\\"", rule)
	}
	for _, name := range rule.Params {
		if strings.ContainsAny(name, "*#") {
			return wire.DeclaredEntry{}, fmt.Errorf("the name %q of Clean-param contains one of \"*#\"", name)
		}
	}
	return wire.DeclaredEntry{Host: host, Pattern: cmp.Or(rule.Path, "/"), Drop: rule.Params, Source: "Clean-param"}, nil
}

// written returns the ways in which decoded names of parameters are written in canonical
// forms: each byte that may need an escape is escaped, and a space is also "+". The error is of
// names that are left out.
func written(names []string) (list []string, err error) {
	list = []string{}
	for _, name := range names {
		if name == "" || strings.HasSuffix(name, "*") {
			err = errors.Join(err, fmt.Errorf("the name %q is empty or ends in \"*\"", name))
			continue
		}
		text := nameEscapes.Replace(name)
		list = append(list, text)
		if strings.Contains(name, " ") {
			list = append(list, strings.ReplaceAll(text, "%20", "+"))
		}
	}
	return list, err
}

var nameEscapes = strings.NewReplacer("&", "%26", "=", "%3D", "#", "%23", "%", "%25", "+", "%2B", " ", "%20")

// check returns why a rule file cannot have an entry.
func check(e wire.DeclaredEntry) error {
	text, err := json.Marshal(map[string][]wire.DeclaredEntry{"params": {e}})
	if err == nil {
		_, err = canon.Qiita().With(canon.WithRuleFile(bytes.NewReader(text)))
	}
	return err
}

// Declared lists what trusted hosts declared, by host and path.
func (e *Evidence) Declared() []wire.Declared {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]wire.Declared, 0, len(e.rules.places))
	for p, s := range e.rules.places {
		if len(s.entries)+len(s.revoked) > 0 {
			list = append(list, wire.Declared{Host: p.host, Path: p.path, Entries: append([]wire.DeclaredEntry{}, s.entries...), Revoked: s.revoked})
		}
	}
	slices.SortFunc(list, func(a, b wire.Declared) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path)) })
	return list
}

// apply uses the profile of a rule file with the declared entries.
func (e *Evidence) apply(file *ruleFile, list []wire.Declared) error {
	params, _ := file.fields["params"].([]any)
	own := len(params)
	for _, s := range list {
		for _, entry := range s.Entries {
			if !slices.Contains(s.Revoked, entry.Pattern) {
				params = append(params, entry)
			}
		}
	}
	if len(params) == own {
		return e.opt.Use(file.with)
	}
	fields := maps.Clone(file.fields)
	fields["params"] = params
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	p, err := file.base.With(canon.WithRuleFile(bytes.NewReader(text)))
	if err != nil {
		return fmt.Errorf("cannot use the rule file with the rules that trusted hosts declare: %w", err)
	}
	return e.opt.Use(p)
}

func (e *Evidence) save(list []wire.Declared) error {
	if e.opt.Saved == "" {
		return nil
	}
	text, err := durable.Marshal(list)
	if err != nil {
		return err
	}
	return durable.WriteFile(e.opt.Saved, append(text, '\n'))
}

// load returns the entries that an earlier process saved, of hosts that are trusted still. Nothing was declared before the first time
// that a host is trusted, which is when it is called.
func (e *Evidence) load(trusted *canon.URLSet) ([]wire.Declared, error) {
	if e.opt.Saved == "" {
		return nil, nil
	}
	text, err := os.ReadFile(e.opt.Saved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []wire.Declared
	if err == nil {
		err = durable.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(s wire.Declared) bool { return !trusts(trusted, s.Host) })
	for i := range list {
		list[i].Entries = slices.DeleteFunc(list[i].Entries, func(entry wire.DeclaredEntry) bool { return check(entry) != nil })
	}
	return list, nil
}

// hostAndPath returns the host, without port, and the path of a canonical form.
func hostAndPath(form string) (host, path string) {
	_, rest, _ := strings.Cut(form, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, path = whatwg.CutBefore(rest, "/")
	host, _ = whatwg.CutPort(string(canon.Host([]byte(form))))
	return host, path
}

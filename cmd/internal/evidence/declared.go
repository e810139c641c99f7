package evidence

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/store/captures"
)

// Rules that hosts declare of their own parameters, by No-Vary-Search and Clean-param. The hosts are those of trust_declared
// in the rule file. A No-Vary-Search field holds for the path of its response only. A Clean-param line holds for the paths
// that it names. The latest declaration of a path, or of a robots.txt, replaces the ones before. A response that declares
// nothing changes nothing.
//
// To read a declaration, and to check that a rule file can have it, takes longer than the rest of a settlement. So Offer only
// notes its text, and adoptAsDeclared reads what is new, all at once, and makes the next profile of it: the rule file with
// the declared entries behind its own. They are saved first, because keys depend on them.

// maxDeclared bounds the text of all declarations, in bytes. Each takes about twice its text in memory.
const maxDeclared = 4 << 20

// Entry is an entry of "params" in a rule file.
type Entry struct {
	Host    string    `json:"host"`
	Pattern string    `json:"pattern"`
	Drop    []string  `json:"drop,omitempty"`
	Keep    *[]string `json:"keep,omitempty"` // empty keeps nothing
	Source  string    `json:"source"`
}

// place is where a declaration was made: the path of a response, or "" for the robots.txt of the host.
type place struct{ host, path string }

// said is what a place declared.
type said struct {
	text    string  // the latest; "" of what an earlier process saved
	read    bool    // the entries are those of the text, not of the one before
	entries []Entry // that a rule file can have
	size    int     // bytes of place and text
}

// rules are the declarations of the trusted hosts. Evidence.mu is held.
type rules struct {
	hosts   []string // as in a rule file: "example.com", "*.example.com" or "*"
	places  map[place]said
	size    int
	refused int64
	last    error
}

// ruleFile is what the declared rules are added to. Evidence.applying is held.
type ruleFile struct {
	base   *canon.Profile // without the file
	with   *canon.Profile // with it
	fields map[string]any // of its object
	loaded bool           // what was saved is
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
// forgotten, and what an earlier process saved of those that are is loaded.
func (e *Evidence) SetRules(base, with *canon.Profile, text []byte) error {
	e.applying.Lock()
	defer e.applying.Unlock()
	var fields map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &fields); err != nil {
			return fmt.Errorf("cannot read the rule file: %w", err)
		}
	}
	e.file.base, e.file.with, e.file.fields = base, with, fields
	if e.trust(TrustedHosts(text)) {
		if err := e.save(); err != nil {
			return err
		}
	}
	if err := e.load(); err != nil {
		return fmt.Errorf("cannot read what trusted hosts declared from %s; remove it, and URLs of these hosts may be fetched once more: %w", e.opt.Saved, err)
	}
	return e.apply()
}

// trust replaces the list of trusted hosts, and forgets what others declared. It reports whether there was any.
func (e *Evidence) trust(hosts []string) (forgot bool) {
	if e.opt.Off {
		hosts = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.rules
	r.hosts = nil
	for _, h := range hosts {
		r.hosts = append(r.hosts, canonicalHost(h))
	}
	e.trusts.Store(len(hosts) > 0)
	for p, was := range r.places {
		if !r.trusts(p.host) {
			r.size -= was.size
			delete(r.places, p)
			forgot = true
		}
	}
	return forgot
}

// trusts reports whether the list of hosts contains a host, or a domain above it.
func (r *rules) trusts(host string) bool {
	return slices.ContainsFunc(r.hosts, func(h string) bool {
		domain, below := strings.CutPrefix(h, "*.")
		return h == "*" || h == host || below && strings.HasSuffix(host, "."+domain)
	})
}

// hear notes what a fetch declares, given its canonical form.
func (e *Evidence) hear(form string, f *captures.Capture) {
	host, path := hostAndPath(form)
	if !e.rules.trusts(host) {
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
	was := r.places[p]
	if was.text == text {
		return
	}
	size := len(p.host) + len(p.path) + len(text) + 64
	if r.size+size-was.size > maxDeclared {
		r.refuse(p, fmt.Errorf("the declarations of all hosts together would have more than %d bytes", maxDeclared))
		return
	}
	r.size += size - was.size
	r.places[p] = said{strings.Clone(text), false, was.entries, size}
	select {
	case e.changed <- struct{}{}:
	default:
	}
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
)

// adoptAsDeclared uses and saves declared rules as they come, until ctx ends.
func (e *Evidence) adoptAsDeclared(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
		}
		began := time.Now()
		if changed, err := e.adopt(); err != nil {
			e.opt.Logger.Error("cannot use the rules that trusted hosts declare; the earlier rules stay in use", "error", err)
		} else if changed {
			s := e.Stats()
			e.opt.Logger.Info("the rules that trusted hosts declare are in use", "rules", s.Rules, "left_out", s.Refused, "last_left_out", s.Last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(applyEvery, applyShare*time.Since(began))):
		}
	}
}

// adopt reads the declarations that are new, and uses their rules if there are others now.
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
		changed = e.replace(p, text, entries, refused) || changed
	}
	if !changed {
		return false, nil
	}
	if err = e.save(); err == nil {
		err = e.apply()
	}
	return true, err
}

// replace sets the entries of a place to those of its text, unless it declared another since.
func (e *Evidence) replace(p place, text string, entries []Entry, refused error) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if refused != nil {
		e.rules.refuse(p, refused)
	}
	was, ok := e.rules.places[p]
	if !ok || was.text != text {
		return false
	}
	changed = !slices.EqualFunc(was.entries, entries, equal)
	if was.entries, was.read = entries, true; len(entries) > 0 {
		e.rules.places[p] = was
	} else {
		e.rules.size -= was.size
		delete(e.rules.places, p)
	}
	return changed
}

// read returns the entries for what a place declares, and why something of it is left out.
func read(p place, text string) (entries []Entry, refused error) {
	add := func(e Entry, err error) {
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
	e := Entry{Host: p.host, Pattern: p.path + "$", Source: "No-Vary-Search"}
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
func ofCleanParam(host string, rule declared.CleanParam) (Entry, error) {
	if strings.ContainsAny(rule.Path, "?#$\\") {
		return Entry{}, fmt.Errorf("the path of Clean-param %q contains one of \"?#$\\\"", rule)
	}
	for _, name := range rule.Params {
		if strings.ContainsAny(name, "*#") {
			return Entry{}, fmt.Errorf("the name %q of Clean-param contains one of \"*#\"", name)
		}
	}
	return Entry{Host: host, Pattern: cmp.Or(rule.Path, "/"), Drop: rule.Params, Source: "Clean-param"}, nil
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
		var b strings.Builder
		for _, c := range []byte(name) {
			if strings.IndexByte("&=#%+ ", c) >= 0 {
				fmt.Fprintf(&b, "%%%02X", c)
				continue
			}
			b.WriteByte(c)
		}
		list = append(list, b.String())
		if strings.Contains(name, " ") {
			list = append(list, strings.ReplaceAll(b.String(), "%20", "+"))
		}
	}
	return list, err
}

// check returns why a rule file cannot have an entry.
func check(e Entry) error {
	text, err := json.Marshal(map[string][]Entry{"params": {e}})
	if err == nil {
		_, err = canon.Qiita().With(canon.WithRuleFile(bytes.NewReader(text)))
	}
	return err
}

func equal(a, b Entry) bool {
	return a.Host == b.Host && a.Pattern == b.Pattern && a.Source == b.Source && slices.Equal(a.Drop, b.Drop) &&
		(a.Keep == nil) == (b.Keep == nil) && (a.Keep == nil || slices.Equal(*a.Keep, *b.Keep))
}

// savedPlace is what one place declared, as the file has it.
type savedPlace struct {
	Host    string  `json:"host"`
	Path    string  `json:"path"` // "" for the robots.txt of the host
	Entries []Entry `json:"entries"`
}

// declaredRules returns the entries in use, in order of host and path.
func (e *Evidence) declaredRules() []savedPlace {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]savedPlace, 0, len(e.rules.places))
	for p, s := range e.rules.places {
		if len(s.entries) > 0 {
			list = append(list, savedPlace{p.host, p.path, s.entries})
		}
	}
	slices.SortFunc(list, func(a, b savedPlace) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path)) })
	return list
}

// apply uses the profile of the rule file with the declared entries.
func (e *Evidence) apply() error {
	list := e.declaredRules()
	if len(list) == 0 {
		return e.opt.Use(e.file.with)
	}
	params, _ := e.file.fields["params"].([]any)
	for _, s := range list {
		for _, entry := range s.Entries {
			params = append(params, entry)
		}
	}
	file := maps.Clone(e.file.fields)
	file["params"] = params
	text, err := json.Marshal(file)
	if err != nil {
		return err
	}
	p, err := e.file.base.With(canon.WithRuleFile(bytes.NewReader(text)))
	if err != nil {
		return fmt.Errorf("cannot use the rule file with the rules that trusted hosts declare: %w", err)
	}
	return e.opt.Use(p)
}

func (e *Evidence) save() error {
	if e.opt.Saved == "" {
		return nil
	}
	text, err := durable.Marshal(e.declaredRules())
	if err != nil {
		return err
	}
	return durable.WriteFile(e.opt.Saved, append(text, '\n'))
}

// load adds the entries that an earlier process saved, of hosts that are trusted still, the first time that a host is trusted.
func (e *Evidence) load() error {
	if e.opt.Saved == "" || e.file.loaded || !e.trusts.Load() {
		return nil
	}
	text, err := os.ReadFile(e.opt.Saved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []savedPlace
	if err == nil {
		err = durable.Unmarshal(text, &list)
	}
	if err != nil {
		return err
	}
	e.file.loaded = true
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range list {
		p, size := place{s.Host, s.Path}, len(s.Host)+len(s.Path)+64
		if _, ok := e.rules.places[p]; ok || !e.rules.trusts(s.Host) {
			continue
		}
		entries := slices.DeleteFunc(s.Entries, func(entry Entry) bool { return check(entry) != nil })
		for _, entry := range entries {
			written, _ := json.Marshal(entry) // it was read from JSON
			size += len(written)
		}
		e.rules.places[p] = said{read: true, entries: entries, size: size}
		e.rules.size += size
	}
	return nil
}

// hostAndPath returns the host, without port, and the path of a canonical form.
func hostAndPath(form string) (host, path string) {
	_, rest, _ := strings.Cut(form, "://")
	rest, _, _ = strings.Cut(rest, "?")
	at := strings.IndexByte(rest, '/')
	if at < 0 {
		at = len(rest)
	}
	name := canon.Host([]byte(form))
	if colon := bytes.LastIndexByte(name, ':'); colon >= 0 && !bytes.HasSuffix(name, []byte{']'}) {
		name = name[:colon]
	}
	return string(name), rest[at:]
}

// canonicalHost returns an entry of the list of trusted hosts with its host in canonical form.
func canonicalHost(entry string) string {
	domain, below := strings.CutPrefix(entry, "*.")
	form, err := canon.Qiita().Canonicalize("http://" + domain + "/")
	if err != nil {
		return entry
	}
	host, _ := hostAndPath(form)
	if below {
		return "*." + host
	}
	return host
}

package trust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier/declared"
)

// MaxText bounds the text of all rules, in bytes. Each takes about twice its text in memory.
const MaxText = 4 << 20

// Entry is an entry of "params" in a rule file.
type Entry struct {
	Host    string    `json:"host"`
	Pattern string    `json:"pattern"`
	Drop    []string  `json:"drop,omitempty"`
	Keep    *[]string `json:"keep,omitempty"` // empty keeps nothing
	Source  string    `json:"source"`
}

func (e *Entry) size() int {
	n := len(e.Host) + len(e.Pattern) + len(e.Source) + 64
	names := e.Drop
	if e.Keep != nil {
		names = *e.Keep
	}
	for _, name := range names {
		n += len(name) + 16
	}
	return n
}

// place is where a declaration was made: the path of a response, or the robots.txt of a host.
type place struct{ host, path string }

// Rules are the declarations of the trusted hosts. Safe for concurrent use.
type Rules struct {
	mu      sync.Mutex
	hosts   []string // as in a rule file: "example.com", "*.example.com" or "*"
	entries map[place][]Entry
	fields  fields
	text    int // bytes of all entries
	count   int // of all entries
	refused int64
	last    error
	changed chan struct{}
}

// Stats counts the rules.
type Stats struct {
	Hosts   int   // trusted, as the rule file lists them
	Rules   int   // in use
	Refused int64 // declarations of trusted hosts that cannot be used, since the start
	Last    error // why the latest of them cannot be used; nil for none
}

// New returns rules without entries, which trust no host.
func New() *Rules {
	return &Rules{entries: map[place][]Entry{}, fields: fields{}, changed: make(chan struct{}, 1)}
}

// Trust replaces the list of trusted hosts and removes the entries of others.
func (r *Rules) Trust(hosts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = nil
	for _, h := range hosts {
		r.hosts = append(r.hosts, canonicalHost(h))
	}
	for p, entries := range r.entries {
		if !r.trusts(p.host) {
			r.text -= sizeOf(entries)
			r.count -= len(entries)
			delete(r.entries, p)
			r.signal()
		}
	}
}

// Load adds entries that were saved by an earlier process, of hosts that are trusted still.
func (r *Rules) Load(saved []Saved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range saved {
		if r.trusts(s.Host) {
			r.replace(place{s.Host, s.Path}, s.Entries, false, nil)
		}
	}
}

// Saved is what one place declared.
type Saved struct {
	Host    string  `json:"host"`
	Path    string  `json:"path"` // "" for the robots.txt of the host
	Entries []Entry `json:"entries"`
}

// Save returns the entries, in order of host and path.
func (r *Rules) Save() []Saved {
	r.mu.Lock()
	defer r.mu.Unlock()
	saved := make([]Saved, 0, len(r.entries))
	for _, p := range slices.SortedFunc(maps.Keys(r.entries), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.path, b.path))
	}) {
		saved = append(saved, Saved{p.host, p.path, r.entries[p]})
	}
	return saved
}

// Stats counts the rules.
func (r *Rules) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Hosts: len(r.hosts), Rules: r.count, Refused: r.refused, Last: r.last}
}

// Changed returns a channel that receives after the entries changed.
func (r *Rules) Changed() <-chan struct{} { return r.changed }

// Offer notes what a response declares. The profile makes the canonical forms to which the
// rules will apply.
func (r *Rules) Offer(p *canon.Profile, url, noVarySearch, cleanParam string) {
	if noVarySearch == "" && cleanParam == "" || !r.trustsAny() {
		return
	}
	form, err := p.Canonicalize(url)
	if err != nil {
		return
	}
	host, path := split(form)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.trusts(host) {
		return
	}
	if noVarySearch != "" {
		entries, err := r.fields.entries(host, path, noVarySearch)
		r.replace(place{host, path}, entries, isPlace(host, path), err)
	}
	if cleanParam != "" && declared.IsRobots(url) {
		entries, err := ofRobots(host, cleanParam)
		r.replace(place{host, ""}, entries, false, err)
	}
}

// replace sets the entries of a place. If they are not checked yet, those that a rule file cannot
// have are left out. err is why some of its declarations were left out before.
func (r *Rules) replace(p place, entries []Entry, checked bool, err error) {
	if err = errors.Join(err, r.set(p, entries, checked)); err != nil {
		r.refused++
		r.last = fmt.Errorf("cannot use all that %s%s declares: %w", p.host, cmp.Or(p.path, "/robots.txt"), err)
	}
}

// set sets the entries of a place that a rule file can have, unless there is no room for them.
func (r *Rules) set(p place, entries []Entry, checked bool) error {
	was := r.entries[p]
	if slices.EqualFunc(was, entries, equal) {
		return nil
	}
	usable, failed := entries, error(nil)
	if !checked {
		usable, failed = check(entries)
	}
	more := sizeOf(usable) - sizeOf(was)
	if r.text+more > MaxText {
		return fmt.Errorf("the rules of all hosts together would have more than %d bytes", MaxText)
	}
	r.text += more
	r.count += len(usable) - len(was)
	if r.entries[p] = usable; len(usable) == 0 {
		delete(r.entries, p)
	}
	r.signal()
	return failed
}

// check returns the entries that a rule file can have, and why it cannot have the others.
func check(entries []Entry) (usable []Entry, failed error) {
	if checkAll(entries) == nil { // the usual case, much faster than one by one
		return entries, nil
	}
	for i, e := range entries {
		if err := checkAll(entries[i : i+1]); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		usable = append(usable, e)
	}
	return usable, failed
}

// checkAll returns why a rule file cannot have all of the entries..
func checkAll(entries []Entry) error {
	text, err := json.Marshal(map[string][]Entry{"params": entries})
	if err == nil {
		_, err = canon.Qiita().With(canon.WithRuleFile(bytes.NewReader(text)))
	}
	return err
}

func (r *Rules) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func sizeOf(entries []Entry) (n int) {
	for i := range entries {
		n += entries[i].size()
	}
	return n
}

func equal(a, b Entry) bool {
	return a.Host == b.Host && a.Pattern == b.Pattern && a.Source == b.Source && slices.Equal(a.Drop, b.Drop) &&
		(a.Keep == nil) == (b.Keep == nil) && (a.Keep == nil || slices.Equal(*a.Keep, *b.Keep))
}

func (r *Rules) trustsAny() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.hosts) > 0
}

// trusts reports whether the list of hosts contains a host, or a domain above it.
func (r *Rules) trusts(host string) bool {
	return slices.ContainsFunc(r.hosts, func(h string) bool {
		domain, below := strings.CutPrefix(h, "*.")
		return h == "*" || h == host || below && strings.HasSuffix(host, "."+domain)
	})
}

// split returns the host, without port, and the path of a canonical form.
func split(form string) (host, path string) {
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
	host, _ := split(form)
	if below {
		return "*." + host
	}
	return host
}

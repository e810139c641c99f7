package yield

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/shape"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

const (
	maxTemplate = 256
	maxBuffer   = 4096 // bytes of a URL that are kept for the next
)

// Table counts the fetches of templates and of groups of them. Safe for concurrent use.
type Table struct {
	shadow  bool
	lowered atomic.Int64 // templates and groups that are lowered
	urls    atomic.Int64

	mu        sync.Mutex
	seed      maphash.Seed
	contents  contents
	templates templates
	scratch   []byte
	form      []byte // of the URL that is judged
	name      []byte // its template
}

// New returns an empty table. If shadow is true, it only counts.
func New(shadow bool) *Table {
	return &Table{shadow: shadow, seed: maphash.MakeSeed()}
}

// Shadow reports whether the table only counts.
func (t *Table) Shadow() bool { return t.shadow }

// Lowered returns how many templates and groups are lowered by their fetches.
func (t *Table) Lowered() int64 { return t.lowered.Load() }

// URLs returns how many offered URLs were lowered, or would have been in shadow mode.
func (t *Table) URLs() int64 { return t.urls.Load() }

// Offer counts a fetch. The profile makes the canonical forms.
func (t *Table) Offer(p *canon.Profile, f *frontier.Fetched) {
	if f.Digest == "" || f.Redirect != "" || f.Status != 0 && f.Status/100 != 2 {
		return
	}
	form, err := p.Canonicalize(f.URL)
	if err != nil {
		return
	}
	declared := form
	if f.Canonical != "" && f.Canonical != f.URL {
		if link, err := p.Canonicalize(f.Canonical); err == nil && samePath(form, link) {
			declared = link
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	host, name := t.split(form)
	if host == nil || len(name) > maxTemplate {
		return
	}
	key := maphash.String(t.seed, form)
	own := t.contents.bring(t.hash(host, 'p', form), key, true)
	if own == again {
		return
	}
	isKnown := own == known
	if declared != form {
		isKnown = t.contents.bring(t.hash(host, 'p', declared), key, false) == known || isKnown
	}
	isKnown = t.contents.bring(t.hash(host, 'd', f.Digest), key, false) == known || isKnown
	facets := false
	if group := t.withAny(name); group != nil {
		facets = t.templates.facets(t.place(group), t.place(name))
	}
	for group := range t.groups(name) {
		t.lowered.Add(t.templates.count(t.place(group), group, isKnown, facets))
	}
}

// split returns the host of a canonical form, nil if it has none, and its template. They are good until the
// next call.
func (t *Table) split(form string) (host, template []byte) {
	if cap(t.form) > maxBuffer {
		t.form, t.name = nil, nil
	}
	t.form = append(t.form[:0], form...)
	host = canon.Host(t.form)
	t.name = shape.Append(t.name[:0], t.form, host)
	return host, t.name
}

// samePath reports whether two canonical forms differ in their queries only.
func samePath(a, b string) bool {
	pathA, _, _ := strings.Cut(a, "?")
	pathB, _, _ := strings.Cut(b, "?")
	return pathA == pathB
}

// hash returns what stands for a page or a digest of a host, which has no space in it.
func (t *Table) hash(host []byte, kind byte, value string) uint64 {
	t.scratch = append(append(append(t.scratch[:0], host...), ' ', kind), value...)
	return maphash.Bytes(t.seed, t.scratch)
}

func (t *Table) place(name []byte) uint64 { return maphash.Bytes(t.seed, name) }

// Lower reports whether a URL is queued behind the others, by its canonical form, or goes back behind
// them if it is queued already. It is frontier.Options.Lower. Shadow mode counts no queued URL: it would
// count those twice that were counted when they were offered.
func (t *Table) Lower(canonical string, queued bool) bool {
	if t.lowered.Load() == 0 || queued && t.shadow {
		return false
	}
	of, ok := t.Of(canonical)
	if !ok || !of.Lowered || of.Lifted {
		return false
	}
	t.urls.Add(1)
	return !t.shadow
}

// Of returns what decides about a canonical form: a group of it that an operator lifted, else the
// smallest that is lowered, unless a smaller one brings new content. If none decides, it returns
// the smallest whose fetches were counted; ok is false if there is none.
func (t *Table) Of(canonical string) (of wire.Trap, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, template := t.split(canonical)
	decided := false
	for group := range t.groups(template) {
		e := t.templates.find(t.place(group))
		if e == nil {
			continue
		}
		if e.Lifted {
			return e.Trap, true
		}
		if !ok || e.Lowered && !decided {
			of, ok = e.Trap, true
		}
		decided = decided || e.Lowered || e.score < 0 && !byParameter(group)
	}
	return of, ok
}

// List returns the templates and groups that are lowered or lifted, by name.
func (t *Table) List() []wire.Trap {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []wire.Trap{}
	for i := range t.templates {
		for _, e := range t.templates[i].entries {
			if e.Lowered || e.Lifted {
				list = append(list, e.Trap)
			}
		}
	}
	slices.SortFunc(list, func(a, b wire.Trap) int { return cmp.Compare(a.Template, b.Template) })
	return list
}

// Lift keeps a template, or all templates of a group, from being lowered, or with lifted false lets
// their fetches decide again. It reports whether the name is in the table.
func (t *Table) Lift(name string, lifted bool) (of wire.Trap, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.templates.find(t.place([]byte(name)))
	if e == nil {
		return wire.Trap{}, false
	}
	e.Lifted = lifted
	return e.Trap, true
}

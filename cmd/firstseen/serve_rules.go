package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/trust"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// trusting uses as rules what the hosts of trust_declared in the rule file declare. Their rules
// come after those of the file, and are kept in the directory of the store, because keys depend
// on them.
type trusting struct {
	rules *trust.Rules
	front *frontier.Frontier
	base  *canon.Profile

	mu   sync.Mutex
	file map[string]json.RawMessage // the rule file
	with *canon.Profile             // base with the rule file alone
}

// ruleFileLists are the lists of a rule file that matter here.
type ruleFileLists struct {
	Params []json.RawMessage `json:"params"`
	Trust  []string          `json:"trust_declared"`
}

// read takes the text of a rule file that canon has accepted.
func (t *trusting) read(text []byte) error {
	var lists ruleFileLists
	file := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(text, &lists), json.Unmarshal(text, &file)); err != nil {
		return fmt.Errorf("cannot read trust_declared of the rule file: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rules == nil {
		t.rules = trust.New()
	}
	t.file = file
	t.rules.Trust(lists.Trust)
	return nil
}

// checkStore refuses trusted hosts for a store that several daemons can serve: each would hear
// of other declarations, and make other keys of one URL.
func (t *trusting) checkStore(shared bool) error {
	if shared && t.rules != nil && t.rules.Stats().Hosts > 0 {
		return misusef("cannot use trust_declared of the rule file with --redis: daemons that hear of different declarations would make different keys of one URL; learn rules with \"firstseen learn\" instead")
	}
	return nil
}

// begin loads the declared rules that were saved, and sets the profile.
func (t *trusting) begin(front *frontier.Frontier, base, p *canon.Profile, saved string) error {
	t.front, t.base = front, base
	if t.rules != nil {
		text, err := os.ReadFile(saved)
		if err == nil {
			var list []trust.Saved
			if err = durable.Unmarshal(text, &list); err == nil {
				t.rules.Load(list)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot read what trusted hosts declared from %s; remove it, and URLs of these hosts may be fetched once more: %w", saved, err)
		}
	}
	return t.use(p)
}

// use sets the profile: that of the rule file, with the declared rules.
func (t *trusting) use(p *canon.Profile) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.with = p
	return t.apply()
}

func (t *trusting) apply() (err error) {
	p := t.with
	if t.rules != nil {
		if saved := t.rules.Save(); len(saved) > 0 {
			if p, err = t.merged(saved); err != nil {
				return err
			}
		}
	}
	return t.front.SetProfile(p)
}

// merged returns the profile with the rules of the file and the declared ones.
func (t *trusting) merged(saved []trust.Saved) (*canon.Profile, error) {
	var lists struct {
		Params []any `json:"params"`
	}
	if params, ok := t.file["params"]; ok {
		if err := json.Unmarshal(params, &lists.Params); err != nil {
			return nil, err
		}
	}
	for _, s := range saved {
		for i := range s.Entries {
			lists.Params = append(lists.Params, &s.Entries[i])
		}
	}
	params, err := json.Marshal(lists.Params)
	if err != nil {
		return nil, err
	}
	file := maps.Clone(t.file)
	file["params"] = params
	text, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	return withRules(t.base, "with the rules that trusted hosts declare", text)
}

// offer notes what a fetch declares.
func (t *trusting) offer(f *frontier.Fetched) {
	if t.rules == nil || f.NoVarySearch == "" && f.CleanParam == "" {
		return
	}
	t.rules.Offer(t.front.Profile("*"), f.URL, f.NoVarySearch, f.CleanParam)
}

// stats is nil if no host is trusted.
func (t *trusting) stats() *trust.Stats {
	if t.rules == nil {
		return nil
	}
	s := t.rules.Stats()
	if s.Hosts == 0 {
		return nil
	}
	return &s
}

// Each change of the profile reads all rules again. Between two changes are at least applyEvery
// and applyShare times as long as the last one took, so that a site with many rules cannot keep a
// core busy.
const (
	applyEvery = time.Second
	applyShare = 20
)

// run uses and saves declared rules as they come, until ctx ends.
func (t *trusting) run(ctx context.Context, log *slog.Logger, saved string) {
	if t.rules == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.rules.Changed():
		}
		began := time.Now()
		err := t.save(saved) // first: a key is made by a rule only if the next process has the rule
		if err == nil {
			t.mu.Lock()
			err = t.apply()
			t.mu.Unlock()
		}
		s := t.rules.Stats()
		if err != nil {
			log.Error("cannot use the rules that trusted hosts declare; the earlier rules stay in use", "error", err)
		} else {
			log.Info("the rules that trusted hosts declare are in use", "rules", s.Rules, "left_out", s.Refused, "last_left_out", s.Last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(applyEvery, applyShare*time.Since(began))):
		}
	}
}

func (t *trusting) save(name string) error {
	text, err := durable.Marshal(t.rules.Save())
	if err != nil {
		return err
	}
	return durable.WriteFile(name, append(text, '\n'))
}

// excludeFlags name a list of hashed URIs that are never fetched.
type excludeFlags struct{ file string }

func (e *excludeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&e.file, "exclude-hashed", "", "file of hashed URIs of variant N, one a line, or none:FILE or P:FILE of another variant: URLs that they exclude are neither accepted nor leased; SIGHUP reads it again")
}

// list returns the file, and the variant of its entries, which they do not record.
func (e *excludeFlags) list() (file string, v hasheduri.Variant) {
	for _, name := range []string{"none", "N", "P"} {
		if file, ok := strings.CutPrefix(e.file, name+":"); ok {
			v, _ = hashedVariant(name)
			return file, v
		}
	}
	return e.file, hasheduri.N
}

// open reads the list, nil for none.
func (e *excludeFlags) open() (*exclusion, error) {
	if e.file == "" {
		return nil, nil
	}
	x := &exclusion{flags: *e}
	return x, x.reload()
}

// exclusion is a list that is read again at SIGHUP. Safe for concurrent use.
type exclusion struct {
	flags excludeFlags
	list  atomic.Pointer[hasheduri.List]
}

// excluder returns what the frontier asks, or nil if there is no list.
func (x *exclusion) excluder() func(canonical string) bool {
	if x == nil {
		return nil
	}
	return func(canonical string) bool { return x.list.Load().Excluded(canonical) }
}

// reload reads the list again. If it can't be read, the old one stays.
func (x *exclusion) reload() error {
	if x == nil {
		return nil
	}
	file, variant := x.flags.list()
	list, err := openHashedList(file, hasheduri.Hasher{Variant: variant})
	if err != nil {
		return misuse{err}
	}
	x.list.Store(list)
	return nil
}

// log writes how long the list is, since a list that lost its entries is no error.
func (x *exclusion) log(log *slog.Logger) {
	if x != nil {
		log.Info("read the exclusion list", "file", x.flags.file, "entries", x.list.Load().Len())
	}
}

// crawlProfile is a crawl and the profile it is to have.
type crawlProfile struct {
	crawl   string
	profile *canon.Profile
}

// chosenProfiles reads the values of --crawl-profile, CRAWL=PROFILE.
func (f *serveFlags) chosenProfiles() ([]crawlProfile, error) {
	var out []crawlProfile
	for _, v := range f.crawlProfiles {
		crawl, name, ok := strings.Cut(v, "=")
		if !ok || crawl == "" {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q; want a crawl, =, and a profile", v)
		}
		p, err := canon.ParseProfile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q: %w", v, err)
		}
		out = append(out, crawlProfile{crawl, p})
	}
	return out, nil
}

// chooseProfiles sets the profiles of crawls by --crawl-profile.
func (f *serveFlags) chooseProfiles(ctx context.Context, front *frontier.Frontier) error {
	chosen, err := f.chosenProfiles()
	if err != nil {
		return err
	}
	for _, c := range chosen {
		if err := front.SetCrawlProfile(ctx, c.crawl, c.profile); err != nil {
			return err
		}
	}
	return nil
}

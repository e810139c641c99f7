package redisstore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// TestStories plays the stories of testdata/crashes.txt on two daemons.
func TestStories(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("testdata/crashes.txt"))(t)
	for _, story := range strings.Split(string(text), "\n# ")[1:] {
		title, body, _ := strings.Cut(story, "\n")
		t.Run(title, func(t *testing.T) {
			o := testOptions(sharedServer(t), 1)
			o.KeepURLs, o.Groups, o.CacheBytes = true, true, -1
			p := &play{T: t, daemons: map[string]*Store{"a": open(t, o), "b": open(t, o)}, offered: map[string]*offering{}, leases: map[string]store.Entry{}}
			defer closeAll(t, p.daemons["a"], p.daemons["b"])
			for _, scene := range strings.Split("\n"+body, "\n> ")[1:] {
				line, want, _ := strings.Cut(strings.TrimSpace(scene), "\n")
				if got := p.do(line); got != want {
					t.Fatalf("> %s\n%s\nwant:\n%s", line, got, want)
				}
			}
		})
	}
}

// play is a story while it is played.
type play struct {
	*testing.T
	daemons map[string]*Store
	offered map[string]*offering // by daemon
	leases  map[string]store.Entry
}

func (p *play) url(name string) store.Item {
	var n int
	must(fmt.Sscanf(name, "u%d", &n))(p)
	it := testItem(n, "")
	it.URL = name
	return it
}

func (p *play) do(line string) string {
	ctx, words := p.Context(), strings.Fields(strings.ReplaceAll(line, ",", ""))
	s, own := p.daemons[words[0]]
	if !own {
		return p.all(words[0])
	}
	words = words[1:]
	steps := &delivery{s: s, crawl: "c"}
	if o := p.offered[line[:1]]; o != nil {
		steps.steps = o.fresh
	}
	switch words[0] {
	case "offers", "adds":
		to := slices.Index(words, "to")
		var items []store.Item
		for _, name := range words[1:to] {
			it := p.url(name)
			it.Queue = words[to+1]
			items = append(items, it)
		}
		var opt store.AddOptions
		if len(words) > to+2 {
			must(fmt.Sscan(words[len(words)-1], &opt.MaxPerQueue))(p)
		}
		return p.told(s, line[:1], words[0] == "offers", opt, items)
	case "sends":
		must(true, steps.queue(ctx))(p)
	case "ends":
		must(true, steps.end(ctx))(p)
	case "looks":
		e, err := storetest.Lookup(ctx, s, "c", p.url(words[2]).Key)
		if errors.Is(err, store.ErrNotFound) {
			return "unknown"
		}
		return []string{"seen", "queued", "leased", "done", "dropped"}[must(e.State, err)(p)] + " in " + e.Queue
	case "forgets":
		n := must(s.Forget(ctx, store.Selection{Crawl: "c", Keys: []store.Key{p.url(words[1]).Key}}))(p)
		return fmt.Sprint(n, " forgotten")
	case "takes":
		var names []string
		for _, l := range must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 9, MaxPerQueue: 9, Lease: time.Hour}))(p).Leases {
			p.leases[l.URL] = l
			names = append(names, l.URL)
		}
		return strings.Join(names, " ")
	case "completes":
		l := p.leases[words[1]]
		if got := must(s.Settle(ctx, "c", []store.Settlement{{Key: l.Key, Token: l.Token}}))(p); got[0] == store.Stale {
			return "stale"
		}
	case "groups":
		one := 1
		must(true, s.Configure(ctx, "c", words[1], store.QueueChange{Group: &words[3], MaxInFlight: &one}))(p)
	case "deletes":
		must(s.ask(ctx, scriptDeleteQueue, 0, "c", []byte(words[1])))(p)
	default:
		p.Fatalf("got %q; want what a daemon can do", line)
	}
	return ""
}

// told adds items, or offers them alone, and tells what became of each.
func (p *play) told(s *Store, daemon string, alone bool, opt store.AddOptions, items []store.Item) string {
	o := unsent(s, "c", opt, items...)
	if alone {
		must(true, o.record(p.Context(), upTo(len(items))))(p)
		p.offered[daemon] = o
	} else {
		o.verdicts = must(s.Add(p.Context(), "c", items, opt))(p)
	}
	var told []string
	for i, v := range o.verdicts {
		what := strings.ToLower(fmt.Sprint(v.Status))
		if slices.Contains(o.pending, i) {
			what = "pending"
		}
		told = append(told, items[i].URL+" "+what)
	}
	return strings.Join(told, ", ")
}

// all does what no daemon of the story does.
func (p *play) all(what string) string {
	s := p.daemons["b"]
	if what == "sweep" {
		must(true, s.sweep(p.Context(), 0))(p)
		return ""
	}
	st, steps := must(s.Stats(p.Context(), "c"))(p), int64(0)
	for _, name := range []string{"o", "p"} {
		steps += must(only(p, s).HLen(p.Context(), s.layout.bases[0]+name+"\x00\x00\x00\x01").Result())(p)
	}
	return fmt.Sprintf("seen %d, held %d, completed %d, steps %d", st.Seen, st.Held, st.Completed, steps)
}

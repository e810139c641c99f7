// Command lab measures how many fetches crawlers need for real web applications whose contents are known.
//
// README.md describes it. It starts on loopback what Debian packages, fills it with seeded articles, records
// what it answers, and runs our embedded crawler, Scrapy, colly and Crawlee on the recording.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// lab is one run of this program.
type lab struct {
	dir      string // for applications, crawlers and recordings
	tools    string // this program's own directory
	apps     string // names, separated by commas; "" is all
	crawlers string // the same
	limit    int    // fetches of a crawl
	articles int    // of each application
	check    int    // pages to check
	replay   bool   // start no application
	details  bool   // print more than the table
	out      io.Writer
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func main() {
	log.SetFlags(0)
	l := lab{out: os.Stdout}
	flag.StringVar(&l.dir, "dir", ".cache/lab", "where applications, crawlers and recordings are kept")
	flag.StringVar(&l.tools, "tools", "cmd/internal/tools/lab", "this program's own directory")
	flag.StringVar(&l.apps, "apps", "", "applications, separated by commas; all when empty")
	flag.StringVar(&l.crawlers, "crawlers", "", "crawlers, separated by commas, beside firstseen; all when empty")
	flag.IntVar(&l.limit, "limit", 4000, "most fetches of a crawl")
	flag.IntVar(&l.articles, "articles", 250, "seeded articles of each application; read when the first is installed")
	flag.IntVar(&l.check, "check", 0, "print so many pages with the object that the truth says they show, and compare as many with the live application")
	flag.BoolVar(&l.replay, "replay", false, "start no application: crawl the recordings alone")
	flag.BoolVar(&l.details, "details", false, "print what fetches were wasted on, and what digests would tell")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // what is recorded is kept
	defer stop()
	if err := l.run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run measures the applications one after the other.
func (l *lab) run(ctx context.Context) (err error) {
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return err
	}
	if l.tools, err = filepath.Abs(l.tools); err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(l.dir, "articles.json")
	if _, err := os.Stat(file); err != nil {
		out, err := exec.CommandContext(ctx, "python3", filepath.Join(l.tools, "apps/seed.py"), fmt.Sprint(l.articles), "1").Output()
		if err != nil {
			return fmt.Errorf("cannot make articles: %w", err)
		}
		if err := os.WriteFile(file, out, 0o644); err != nil {
			return err
		}
	}
	for i := range apps {
		a := &apps[i]
		if !wanted(l.apps, a.name) {
			continue
		}
		if err := l.measure(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether a name is in a list, of which "" has all.
func wanted(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// measure runs the crawlers on one application.
func (l *lab) measure(ctx context.Context, a *app) (err error) {
	t, err := l.prepare(ctx, a)
	if err != nil {
		return err
	}
	rec, err := openRecording(filepath.Join(l.dir, a.name+".recording"))
	if err != nil {
		return err
	}
	if !l.replay {
		live, stop, err := a.serve(ctx, l)
		if err != nil {
			return err
		}
		defer stop()
		rec.live = live
	}
	defer func() { err = errors.Join(err, rec.save()) }()
	var results []*result
	crawl := func(name string, by func(*run) error) (*run, error) {
		r := &run{rec: rec}
		if err := by(r); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", a.name, name, err)
		}
		if len(r.log) == 0 {
			return nil, fmt.Errorf("%s, %s: fetched nothing", a.name, name)
		}
		results = append(results, judge(name, rec, t, r.log, l.limit))
		l.say("%s: %s: %d fetches, %d objects", a.name, name, len(r.log), len(results[len(results)-1].objects))
		return r, rec.save()
	}
	plain := &ours{}
	first, err := crawl("firstseen", func(r *run) error { return plain.crawl(ctx, l, r, a.seed(), l.limit) })
	if err != nil {
		return err
	}
	rules, exact, err := learn(ctx, first, ofBytes)
	if err != nil {
		return err
	}
	byText, masked, err := learn(ctx, first, ofText)
	if err != nil {
		return err
	}
	variants := map[string]*ours{"firstseen": plain}
	for _, v := range []struct {
		name string
		ours ours
	}{
		{"firstseen+breadth", ours{breadth: true}},
		{"firstseen+everything", ours{everything: true}},
		{"firstseen+rules", ours{everything: true, rules: rules}},
		{"firstseen+yield", ours{everything: true, yield: true}},
		{"firstseen+nofollow", ours{everything: true, nofollow: true}},
		{"firstseen+textrules", ours{everything: true, rules: byText}},
		{"firstseen+textyield", ours{everything: true, yield: true, digest: ofText}},
		{"firstseen+daemon", ours{everything: true, breadth: true, yield: true, leaveOut: true, digest: ofText}},
	} {
		if !wanted(l.crawlers, v.name) {
			continue
		}
		variants[v.name] = &v.ours
		if _, err := crawl(v.name, func(r *run) error { return v.ours.crawl(ctx, l, r, a.seed(), l.limit) }); err != nil {
			return err
		}
	}
	for _, o := range others {
		if !wanted(l.crawlers, o.name) {
			continue
		}
		if _, err := crawl(o.name, func(r *run) error { return o.crawl(ctx, l, r, a.seed(), l.limit) }); err != nil {
			l.say("%v", err)
		}
	}
	l.table(a, t, results)
	fmt.Fprintf(l.out, "\nlearn proposes %d rules by the bytes, and %d by the text\n", len(exact.Proposals), len(masked.Proposals))
	for _, p := range masked.Proposals {
		fmt.Fprintf(l.out, "- %s at %s%s, saves %d URLs, by the text\n", p.What(), p.Host, p.Path, p.Saves)
	}
	for _, c := range masked.LeftOut[:min(8, len(masked.LeftOut))] {
		fmt.Fprintf(l.out, "- left out: %s at %s%s, %d URLs: %s\n", c.What(), c.Host, c.Path, c.URLs, c.Why)
	}
	reachable := map[string]bool{}
	for _, r := range results {
		for o := range r.objects {
			reachable[o] = true
		}
	}
	for _, r := range results {
		if o := variants[r.crawler]; o != nil {
			l.lost(r, o, t, reachable)
		}
	}
	l.mismatches(rec, t)
	if l.details {
		for _, r := range results {
			l.wasted(r, 12)
		}
		l.digests(rec, t)
	}
	if l.check > 0 {
		return l.compare(ctx, a, rec, t)
	}
	return nil
}

// mismatches prints pages that lack the marker of the object that the truth says they show.
func (l *lab) mismatches(rec *recording, t *truth) {
	wrong, count := []string{}, map[string]int{}
	rec.mu.Lock()
	for u, a := range rec.answers {
		if o := t.shows(u); a.Status == 200 && o != "" && !strings.Contains(string(a.Body), t.markers[o]) {
			if count[template(u)]++; count[template(u)] == 1 { // one of each kind
				wrong = append(wrong, u+" does not show "+o)
			}
		}
	}
	rec.mu.Unlock()
	slices.Sort(wrong)
	for _, w := range wrong {
		fmt.Fprintln(l.out, "the truth is wrong:", w)
	}
}

// compare prints recorded pages with what they show, for a person to look at, and asks the application for them once more.
func (l *lab) compare(ctx context.Context, a *app, rec *recording, t *truth) error {
	rng := rand.New(rand.NewPCG(1, 2))
	var urls []string
	for u, a := range rec.answers {
		if a.Status == 200 {
			urls = append(urls, u)
		}
	}
	slices.Sort(urls)
	rng.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	n := min(l.check, len(urls))
	for _, u := range urls[:n] {
		fmt.Fprintf(l.out, "%-40s %s\n", t.shows(u), u)
	}
	if rec.live == nil {
		return nil
	}
	differs := 0
	for _, u := range urls[:n] {
		now, err := rec.live(ctx, u)
		if err != nil {
			return err
		}
		if then := rec.peek(u); now.Status != then.Status || !slices.Equal(linksOf(u, now), linksOf(u, then)) {
			fmt.Fprintln(l.out, "other links than recorded:", u)
			differs++
		}
	}
	fmt.Fprintf(l.out, "%s: %d of %d pages are answered as recorded: the same status and links\n", a.name, n-differs, n)
	return nil
}

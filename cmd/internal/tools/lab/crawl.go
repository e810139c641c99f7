package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/store/memstore"
)

// ours is the crawler of examples/embedded, with what can be switched on.
type ours struct {
	everything bool   // also what declared.Unlisted leaves out
	rules      []byte // a rule file
	yield      bool   // traps by yield, as serve has them
	leaveOut   bool   // and what serve --traps http,yield,unlisted excludes
	nofollow   bool   // leave out links that are marked nofollow, or whose page is
	breadth    bool   // without frontier.PagesFirst
	digest     digest // of what is reported as fetched; nil: the bytes

	first   *frontier.PagesFirst
	offered map[string]frontier.Result // by the link's text
}

// crawl fetches from the seed until nothing is left or limit fetches were made.
func (o *ours) crawl(ctx context.Context, l *lab, r *run, seed string, limit int) error {
	start, err := url.Parse(seed)
	if err != nil {
		return err
	}
	profile := canon.Qiita()
	if len(o.rules) > 0 {
		if profile, err = profile.With(canon.WithRuleFile(bytes.NewReader(o.rules))); err != nil {
			return err
		}
	}
	unlisted := &declared.Unlisted{Profile: profile}
	opt := frontier.Options{
		Profile: profile, Delay: -1, RetryAfter: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Exclude: func(canonical string) bool {
			return string(canon.Host([]byte(canonical))) != start.Host || !o.everything && unlisted.Exclude(canonical)
		},
	}
	if o.yield {
		mode := evidence.LowerTraps
		if o.leaveOut {
			mode = evidence.LeaveOutTraps
		}
		learned := evidence.New(evidence.Options{Traps: mode, Profile: func() *canon.Profile { return profile }})
		onHost := opt.Exclude
		opt.Exclude = func(canonical string) bool { return onHost(canonical) || learned.Exclude(canonical) }
		opt.Lower = learned.Lower
		opt.OnFetched = func(f frontier.Fetched) { learned.Offer(&f) }
	}
	o.first = new(frontier.PagesFirst)
	if !o.breadth {
		opt.Rank = o.first.Rank
	}
	s := memstore.New(memstore.Options{})
	defer s.Close()
	f, err := frontier.New(s, opt)
	if err != nil {
		return err
	}
	defer f.Close()
	client := &http.Client{Transport: r, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	o.offered = map[string]frontier.Result{}
	if _, err := f.Add(ctx, seed); err != nil {
		return err
	}
	for lease, err := range f.Leases(ctx) {
		for lease != nil && err == nil {
			lease, err = o.visit(ctx, f, unlisted, r.rec, client, lease)
		}
		if err != nil {
			return err
		}
		if len(r.log) >= limit {
			return nil
		}
	}
	return nil
}

// visit fetches a page, offers its links and settles its lease.
func (o *ours) visit(ctx context.Context, f *frontier.Frontier, unlisted *declared.Unlisted, rec *recording, client *http.Client, lease *frontier.Lease) (*frontier.Lease, error) {
	resp, err := client.Get(lease.URL)
	if errors.Is(err, errUnrecorded) {
		return nil, err
	}
	page, follow, err := frontier.SettleResponse(ctx, f, lease, resp, err)
	if !page {
		return follow, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	says := declared.Of(lease.URL, resp.Header, body)
	unlisted.Fetched(lease.URL, says)
	var links []string
	for _, l := range rec.links(resp.Request.URL.String()) { // of the body: a page of a recording is parsed once for all crawls
		if !o.nofollow || !l.nofollow {
			links = append(links, l.url)
		}
	}
	results, err := f.AddBatch(ctx, frontier.Links(lease, links...))
	if err != nil {
		return nil, err
	}
	o.first.Fetched(lease.URL, results)
	for i, result := range results {
		if _, ok := o.offered[links[i]]; !ok {
			o.offered[links[i]] = result
		}
	}
	content := ofBytes(body)
	if o.digest != nil {
		content = o.digest(body)
	}
	_, err = f.Settle(ctx, []frontier.Settlement{{Lease: lease, Outcome: frontier.Done, Fetched: &frontier.Fetched{
		Status: resp.StatusCode, Digest: content, Canonical: says.Canonical, NoVarySearch: says.NoVarySearch,
		Masked: declared.Masked(lease.URL, resp.Header.Get("Content-Type"), body), Unlisted: says.Unlisted,
	}}})
	return nil, err
}

// learn returns the rule file that `learn` proposes from a crawl of which every fourth page was fetched twice in a row.
func learn(ctx context.Context, r *run, of digest) (rules []byte, learned *audit.Learned, err error) {
	log := audit.NewLog()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, u := range r.log {
		a := r.rec.peek(u)
		says := declared.Of(u, a.Header, a.Body)
		for i, body := range [][]byte{a.Body, a.second()} {
			if i == 1 && a.Once {
				break
			}
			at = at.Add(time.Second)
			c := audit.Capture{URL: u, Time: at, Status: a.Status, Canonical: says.Canonical, NoVarySearch: says.NoVarySearch, Redirect: audit.Resolve(u, a.Header.Get("Location"))}
			if a.Status == http.StatusOK {
				c.Digest = of(body)
			}
			if err := log.Add(c); err != nil {
				return nil, nil, err
			}
		}
	}
	learned, err = audit.Learn(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	err = learned.WriteRuleFile(&b)
	return b.Bytes(), learned, err
}

// second returns the body of the second answer.
func (a *answer) second() []byte {
	if a.Second != nil {
		return a.Second
	}
	return a.Body
}

// other is a crawler that others made, run as a process behind a proxy.
type other struct {
	name    string
	install func(ctx context.Context, l *lab, dir string) *exec.Cmd
	command func(l *lab, dir, seed string, limit int) []string
}

var others = []other{
	{
		name: "scrapy",
		install: func(ctx context.Context, _ *lab, dir string) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", `python3 -m venv "$0" && "$0/bin/pip" install -q --disable-pip-version-check scrapy==2.19.0`, dir)
		},
		command: func(l *lab, dir, seed string, limit int) []string {
			return []string{filepath.Join(dir, "bin/scrapy"), "runspider", "--nolog", filepath.Join(l.tools, "crawlers/follow.py"), "-a", "seed=" + seed,
				"-s", "CLOSESPIDER_PAGECOUNT=" + strconv.Itoa(limit), "-s", "ROBOTSTXT_OBEY=1"}
		},
	},
	{
		name: "colly",
		install: func(ctx context.Context, l *lab, dir string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "crawl"), ".")
			cmd.Dir = filepath.Join(l.tools, "crawlers/colly")
			return cmd
		},
		command: func(_ *lab, dir, seed string, limit int) []string {
			return []string{filepath.Join(dir, "crawl"), seed, strconv.Itoa(limit)}
		},
	},
	{
		name: "crawlee",
		install: func(ctx context.Context, l *lab, dir string) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", `mkdir -p "$0" && cp "$1"/*.mjs "$1"/package.json "$0" && cd "$0" && npm install --silent --no-fund --no-audit`,
				dir, filepath.Join(l.tools, "crawlers/crawlee"))
		},
		command: func(_ *lab, dir, seed string, limit int) []string {
			return []string{"node", filepath.Join(dir, "follow.mjs"), seed, strconv.Itoa(limit)}
		},
	},
}

// crawl runs the crawler on a recording. What it fetched is kept: it need not run again to be measured again.
func (o *other) crawl(ctx context.Context, l *lab, r *run, seed string, limit int) error {
	file := fmt.Sprintf("%s.%s.%d.log", r.rec.file, o.name, limit)
	if log, err := os.ReadFile(file); err == nil {
		r.log = strings.Split(string(log), "\n")
		if !slices.ContainsFunc(r.log, func(u string) bool { return r.rec.peek(u) == nil }) {
			return nil
		}
		r.log = nil // it is of another recording
	}
	dir := filepath.Join(l.dir, "crawlers", o.name)
	if _, err := os.Stat(dir + ".installed"); err != nil {
		l.say("%s: install", o.name)
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if out, err := o.install(ctx, l, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %s: %w\n%s", o.name, err, out)
		}
		if err := os.WriteFile(dir+".installed", nil, 0o644); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(listener) }() // until it is closed below
	defer server.Close()
	args := o.command(l, dir, seed, limit)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	proxy := "http://" + listener.Addr().String()
	cmd.Env = append(os.Environ(), "http_proxy="+proxy, "HTTP_PROXY="+proxy, "PROXY="+proxy)
	cmd.Dir = l.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = r.log[:min(limit, len(r.log))] // fetches in flight when it stopped
	if r.err != nil {
		return r.err
	}
	return os.WriteFile(file, []byte(strings.Join(r.log, "\n")), 0o644)
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/wire"
)

// Operators select URLs by what is known of them (find), and send back, drop or forget what they selected. The same flags
// select for all of these commands, so that what find prints is what the others change.

// selection are the flags that select URLs.
type selection struct {
	place         place
	queue         string
	states        []string
	reasons       []string
	match         []string
	before, after time.Time // when they were found
	// when they were last fetched or given up
	fetchedBefore, fetchedAfter time.Time
	client                      string    // of leases
	olderThan                   time.Time // of leases
	all                         bool
}

func (s *selection) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&s.queue, "queue", "", "only URLs of this queue")
	moment(fs, &s.before, "before", "only URLs found before an age as 30d or 12h, a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z")
	s.addCriteria(cmd)
}

// addCriteria adds the flags that no other command has with another meaning.
func (s *selection) addCriteria(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&s.states, "state", nil, "only URLs in these states: queued, scheduled (queued for a later time), leased, done, dropped")
	fs.StringSliceVar(&s.reasons, "reason", nil, "only URLs that were dropped for these reasons, such as attempts or expired-leases")
	fs.StringArrayVar(&s.match, "match", nil, "only URLs that this rule names: example.org, *.example.org, example.org/private/, */*.pdf$ or https://example.org/a; !RULE for all but these; may be given several times")
	moment(fs, &s.after, "after", "only URLs found then or later")
	moment(fs, &s.fetchedBefore, "fetched-before", "only URLs last fetched or given up before an age, day or time: done, dropped, or scheduled for a recrawl")
	moment(fs, &s.fetchedAfter, "fetched-after", "only URLs last fetched or given up then or later")
}

// wire returns the selection as a request has it, of one crawl or of "*".
func (s *selection) wire(crawl string) wire.Selection {
	return wire.Selection{Crawl: crawl, Queue: s.queue, States: s.states, Reasons: s.reasons, Match: s.match, Client: s.client,
		Before: wire.MomentOf(s.before), After: wire.MomentOf(s.after), FetchedBefore: wire.MomentOf(s.fetchedBefore), FetchedAfter: wire.MomentOf(s.fetchedAfter), LeasedBefore: wire.MomentOf(s.olderThan)}
}

// addLeases adds the flags that select leases.
func (s *selection) addLeases(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.client, "client", "", "only URLs leased by this client, which names itself when it leases")
	moment(cmd.Flags(), &s.olderThan, "older-than", "only leases taken or last extended before an age as 10m, a day or a time")
}

func newFindCmd(a *app) *cobra.Command {
	var s selection
	var count, asJSON bool
	var limit int64
	cmd := &cobra.Command{
		Use:   "find (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "List URLs of a crawl by state, reason, queue, age or pattern",
		Long: `List the URLs of a crawl that are kept with their text, or with --count their number: all of them, or those that the flags
select. All criteria must hold; of the values of one flag, any. The list is one that "firstseen add" takes; --json has all
that is known of each URL, of which "add" takes priority, depth, queue, due time, discriminator and metadata. "firstseen requeue", "drop" and "forget" take the same flags.

Queued and leased URLs always have their text; those that are done or dropped where the store keeps URLs (serve --keep-urls,
the default).`,
		Example: `  firstseen find --daemon 127.0.0.1:7072 --state dropped --reason attempts
  firstseen find --db crawl.db --match "shop.example/cart/" --count`,
		Args: noArgs,
	}
	s.place.reads = true
	s.place.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		crawls, err := c.crawlsOf(ctx, s.place.crawl, s.queue)
		if err != nil {
			return err
		}
		out, n := newOutput(a.out), int64(0)
		for _, crawl := range crawls {
			some, err := s.list(ctx, c, crawl, out, count, asJSON, limit-n)
			if n += some; err != nil {
				return errors.Join(err, endOutput(out, 0))
			}
			if limit > 0 && n >= limit {
				break
			}
		}
		if count {
			out.line(grouped(n))
		}
		return endOutput(out, 0)
	})
	s.add(cmd)
	s.addLeases(cmd)
	cmd.Flags().BoolVar(&count, "count", false, "print how many they are")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object for each")
	number(cmd.Flags(), &limit, "limit", 0, 0, 0, "stop after so many", special[int64]{0, "for all"})
	return cmd
}

// list writes the URLs of a crawl, or counts them, and returns how many they are.
func (s *selection) list(ctx context.Context, c *client, crawl string, out *output, count, asJSON bool, limit int64) (n int64, err error) {
	w := s.wire(crawl)
	q := url.Values{"crawl": {w.Crawl}, "queue": {w.Queue}, "state": w.States, "reason": w.Reasons, "match": w.Match, "client": {w.Client}}
	for name, at := range map[string]wire.Moment{"before": w.Before, "after": w.After, "fetched_before": w.FetchedBefore, "fetched_after": w.FetchedAfter, "leased_before": w.LeasedBefore} {
		if at != "" {
			q.Set(name, string(at))
		}
	}
	if limit > 0 {
		q.Set("limit", fmt.Sprint(limit))
	}
	if count {
		q.Set("count", "")
		var answer wire.Changed
		err := c.get(ctx, "/v1/urls", q, &answer)
		return answer.URLs, err
	}
	resp, err := c.do(ctx, "GET", "/v1/urls?"+q.Encode(), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("the list ended early, after %d URLs: %w", n, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		n++
		if asJSON {
			out.line(strings.TrimSuffix(string(line), "\n"))
			continue
		}
		var u wire.FoundURL
		if err := json.Unmarshal(line, &u); err != nil {
			return n, fmt.Errorf("cannot read the answer of the daemon: %w", err)
		}
		out.line(whatwg.Line(wire.TextOr(u.URL, u.URLBytes)))
	}
}

// change does something to the selected URLs of each crawl, and says to how many.
func (s *selection) change(ctx context.Context, a *app, c *client, do, done string) error {
	crawls, err := c.crawlsOf(ctx, s.place.crawl, s.queue)
	if err != nil {
		return err
	}
	n, besides := int64(0), ""
	for _, crawl := range crawls {
		var answer wire.Changed
		if err := c.post(ctx, "/v1/change", wire.ChangeRequest{Do: do, All: s.all, Select: s.wire(crawl)}, &answer); err != nil {
			return err
		}
		if n += answer.URLs; answer.Excluded > 0 {
			besides += fmt.Sprintf("; %s of crawl %s not touched: exclude lists the rules", plural(answer.Excluded, "excluded URL"), visible(crawl))
		}
		if answer.Full {
			besides += fmt.Sprintf("; crawl %s is full: new URLs are refused", visible(crawl))
		}
	}
	if n == 0 && s.client != "" {
		return a.say(fmt.Sprintf("0 %s: %s has no lease there that the flags select; find --state leased --json shows who has", done, visible(s.client)))
	}
	return a.say(grouped(n) + " " + done + besides)
}

func newChangeCmd(a *app, do, done, short, long, example string) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   do + " (--db DIR | --redis ADDR | --daemon ADDR) --state STATE | --match RULE | …",
		Short: short,
		Long: long + ` The flags select URLs as those of "firstseen find", which shows first what will be changed. --all stands for all
URLs of the crawl. Fetchers and clients go on meanwhile.`,
		Example: example,
		Args:    noArgs,
	}
	s.place.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		return s.change(ctx, a, c, do, done)
	})
	s.add(cmd)
	if do == "free" {
		s.addLeases(cmd)
		typed(cmd.Flags(), "client", "older-than")
	}
	cmd.Flags().BoolVar(&s.all, "all", false, "all URLs of the crawl")
	typed(cmd.Flags(), "state", "reason", "match", "before", "after", "fetched-before", "fetched-after", "queue")
	return cmd
}

func newRequeueCmd(a *app) *cobra.Command {
	return newChangeCmd(a, "requeue", "requeued", "Queue URLs again that are done or dropped, or scheduled for later",
		`Queue URLs again that are done or were dropped, as if they were new, and make those due now that are scheduled for later.
Leased URLs stay as they are. The bounds of --max-held and --max-per-queue are for offers, and do not hold here.`,
		`  firstseen requeue --daemon 127.0.0.1:7072 --crawl news --queue example.org --state dropped
  firstseen requeue --db crawl.db --match "shop.example/cart/"
  firstseen requeue --db crawl.db --state done --fetched-before 30d`)
}

func newFreeCmd(a *app) *cobra.Command {
	return newChangeCmd(a, "free", "freed", "End leases whose fetchers are dead",
		`End leases, so that their URLs are leased again at once, and not when the leases run out: those of a crawl, a queue, a client
that named itself when it leased, or of URLs that a rule names; --older-than spares those taken or extended since. --all ends
those of fetchers that live, too, as after a restore.`,
		`  firstseen free --daemon 127.0.0.1:7072 --crawl news --queue example.org
  firstseen free --db crawl.db --match "shop.example/cart/"
  firstseen free --daemon 127.0.0.1:7072 --crawl news --client w7 --older-than 10m`)
}

func newDropCmd(a *app) *cobra.Command {
	return newChangeCmd(a, "drop", "dropped", "Drop queued URLs: they stay seen, and are not fetched",
		`Drop queued URLs, also those that are scheduled for later: they stay seen and are not fetched, as when a host is given up.
To have them fetched when they are found again, forget them; to keep others out, exclude them.`,
		`  firstseen drop --daemon 127.0.0.1:7072 --crawl news --queue example.org --state queued
  firstseen drop --db crawl.db --match "shop.example/cart/"`)
}

// newExcludeCmd is the command that excludes URLs.
func newExcludeCmd(a *app) *cobra.Command {
	var p place
	var all, remove, create, asJSON bool
	var from string
	cmd := &cobra.Command{
		Use:   "exclude (--db DIR | --redis ADDR | --daemon ADDR) [--crawl NAME | --all] [--remove] [RULE…]",
		Short: "Keep URLs out of a crawl while it runs, and take that back",
		Long: `Exclude URLs from a crawl, or with --all from every crawl: offers of them are refused, and those that are queued are
forgotten: "find --match RULE --state queued,scheduled" lists them before, and with --json as a list by which "add" brings them
back. With --remove the rules are taken back, and the URLs are new when they are found again. Without a rule, print the
rules with how many URLs each has refused and forgotten since the daemon started, and the latest of them.

A rule is one of
  example.org             a host
  *.example.org           the hosts below it
  example.org/private/    paths of a host that begin so; */private/ of any host
  */*.pdf$                "*" for any text and "$" for the end, as in robots.txt
  https://example.org/a   URLs that begin so
  !example.org/open       an exception to the other rules of its crawl
  hashed:sha1=…           a hashed URI
Long lists of hashed URIs are for serve --exclude-hashed.`,
		Example: `  firstseen exclude --daemon 127.0.0.1:7072 --crawl news example.org/calendar/
  firstseen exclude --daemon 127.0.0.1:7072 --crawl news
  firstseen exclude --daemon 127.0.0.1:7072 --crawl news --remove example.org/calendar/`,
	}
	cmd.PreRun = func(_ *cobra.Command, rules []string) { p.reads = from == "" && len(rules) == 0 }
	p.onCrawl(a, cmd, func(ctx context.Context, c *client, rules []string) error {
		if from != "" {
			more, err := readRules(a.in, from)
			if err != nil {
				return err
			}
			rules = append(rules, more...)
		}
		given := cmd.Flags().Changed("crawl")
		switch {
		case all && given:
			return misusef("--all is about every crawl: leave out --crawl, or leave out --all")
		case p.crawl == "*" || all:
			p.crawl, all = "*", true
		case len(rules) > 0 && !given:
			return misusef("cannot exclude: no crawl is named; give --crawl NAME, or --all for every crawl")
		}
		out := newOutput(a.out)
		var answer wire.Exclusions
		if len(rules) == 0 {
			if remove {
				return misusef("cannot take exclusions back: no rule is given")
			}
			if err := c.get(ctx, "/v1/exclusions", url.Values{"crawl": {p.crawl}}, &answer); err != nil {
				return err
			}
			for i := range answer.Exclusions {
				writeExclusion(out, &answer.Exclusions[i], asJSON)
			}
			if len(answer.Exclusions) == 0 {
				fmt.Fprintln(a.err, "no exclusion is in force")
			}
			return endOutput(out, 0)
		}
		r := wire.ExclusionRequest{Crawl: p.crawl, All: all, Add: rules}
		if all {
			r.Crawl = ""
		}
		if remove {
			r.Add, r.Remove = nil, rules
		}
		if !all && !create {
			if _, err := c.crawls(ctx, p.crawl); err != nil {
				return err
			}
		}
		if err := c.post(ctx, "/v1/exclusions", r, &answer); err != nil {
			return err
		}
		of := "of crawl " + visible(p.crawl)
		if all {
			of = "of every crawl"
		}
		out.line(fmt.Sprintf("%s added, %d taken back; %d in force, with those %s", plural(int64(answer.Added), "exclusion"), answer.Removed, len(answer.Exclusions), of))
		if n := answer.Forgotten; answer.Forgetting {
			out.line(fmt.Sprintf("%s forgotten so far; the others follow, and exclude without rules counts them", plural(n, "queued URL")))
		} else if n > 0 {
			out.line(plural(n, "queued URL") + " forgotten: --remove does not bring them back, but add does if they were listed before (find --state queued,scheduled --json)")
		}
		return endOutput(out, 0)
	})
	fs := cmd.Flags()
	fs.Lookup("crawl").Usage = "crawl whose rules are printed; to add or take back rules, name it"
	fs.BoolVar(&all, "all", false, "the rules of every crawl")
	fs.BoolVar(&remove, "remove", false, "take the rules back")
	fs.BoolVar(&create, "create", false, "the crawl may be one that is not there yet")
	fs.StringVar(&from, "from", "", `file of rules, one a line, "-" for stdin; blank lines and lines that begin with # are skipped`)
	fs.BoolVar(&asJSON, "json", false, "print the rules as JSON, one object a line")
	typed(fs, "remove", "create", "from")
	return cmd
}

func writeExclusion(out *output, x *wire.Exclusion, asJSON bool) {
	if asJSON {
		out.json(x)
		return
	}
	of := visible(x.Crawl)
	if of == "*" {
		of = "all"
	}
	text := fmt.Sprintf("%-12s  %-40s  %s refused, %s forgotten", of, visible(x.Rule), grouped(x.Refused), grouped(x.Forgotten))
	if n := len(x.Examples); n > 0 {
		text += ", as " + visible(x.Examples[n-1])
	}
	out.line(text)
}

// readRules reads a file of rules.
func readRules(in io.Reader, name string) (rules []string, err error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read rules: %w", err)
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if rule := strings.TrimSpace(lines.Text()); rule != "" && rule[0] != '#' {
			rules = append(rules, rule)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read rules: %w", err)
	}
	return rules, nil
}

// newWhyCmd asks what became of a URL.
func newWhyCmd(a *app) *cobra.Command {
	var p place
	var asJSON bool
	var q wire.ExplainQuery
	cmd := &cobra.Command{
		Use:   "why (--db DIR | --redis ADDR | --daemon ADDR) URL",
		Short: "Say what became of a URL, and why it is not fetched",
		Long: `Say what a crawl knows of a URL, in any variant, and what it waits for: its canonical form and the rules that made it, what an
offer of it would be answered, what excludes it, its state and leases, what holds its queue, and the first variant that
was seen. --json prints what GET /v1/explain answers. It changes nothing.`,
		Example: `  firstseen why --daemon 127.0.0.1:7072 --crawl news http://Example.org:80/a`,
		Args:    takes(1, 1, "a URL"),
	}
	p.reads = true
	p.onCrawl(a, cmd, func(ctx context.Context, c *client, args []string) error {
		crawls, err := c.crawls(ctx, p.crawl)
		if err != nil {
			return err
		}
		if len(crawls) != 1 {
			return misusef("cannot say of every crawl; name one by --crawl")
		}
		var e wire.Explanation
		query := url.Values{"url": {args[0]}, "crawl": {crawls[0]}, "queue": {q.Queue}, "discriminator": {q.Discriminator}}
		if err := c.get(ctx, "/v1/explain", query, &e); err != nil {
			return err
		}
		return a.answer(asJSON, e, func(out *output) { writeWhy(out, &e) })
	})
	cmd.Flags().StringVar(&q.Queue, "queue", "", "queue of the URL, in a crawl without canonical forms")
	cmd.Flags().StringVar(&q.Discriminator, "discriminator", "", "what it was offered with, if it was")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

func writeWhy(out *output, e *wire.Explanation) {
	line := func(what, text string) {
		if text != "" {
			out.line(fmt.Sprintf("%-11s  %s", what, visible(text)))
		}
	}
	out.line(visible(e.Why))
	line("canonical", e.Canonical)
	for _, c := range e.Changes {
		line("  "+c.Rule, c.After)
	}
	line("an offer is", e.Verdict)
	line("refused as", e.Refusal)
	line("excluded by", e.Excluded)
	if t := e.Trap; t != nil {
		line("template", fmt.Sprintf("%s: %d of %s brought nothing new", t.Template, t.Known, plural(int64(t.Fetches), "fetch")))
	}
	known := e.Known
	if known == nil {
		return
	}
	line("state", known.State)
	if first := wire.TextOr(known.First, known.FirstBytes); first != e.Input {
		line("first seen", first)
	}
	for _, t := range []struct {
		what string
		at   time.Time
	}{{"found", known.Created}, {"due", known.Due}, {"leased to", known.Expires}} {
		if !t.at.IsZero() {
			line(t.what, t.at.UTC().Format(time.RFC3339))
		}
	}
	if known.Attempts > 0 {
		line("leases", fmt.Sprintf("%d: %s, %s, %s, %d expired", known.Attempts, plural(int64(known.Failures), "failure"), plural(int64(known.Deferrals), "deferral"), plural(int64(known.Releases), "release"), known.Expiries))
	}
	if known.Status > 0 {
		line("last status", fmt.Sprint(known.Status))
	}
	line("reason", known.Reason)
	if q := e.Holds; q != nil {
		text := q.Queue + ": " + q.State
		if q.Reason != "" {
			text += ", " + q.Reason
		}
		if until := q.Next.UTC().Format(time.RFC3339); !q.Next.IsZero() && !strings.HasSuffix(text, until) {
			text += ", until " + until
		}
		line("queue", text)
	}
}

// forgetFlags select what to forget.
type forgetFlags struct {
	urls  []string
	held  bool
	found selection // of the whole crawl with --all; --state, --reason, --match and --after find URLs
}

func newForgetCmd(a *app) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget (--db DIR | --redis ADDR | --daemon ADDR)",
		Short: "Make URLs that were seen new again",
		Long: `Forget some URLs of a crawl, or the whole crawl: a forgotten URL counts as new when it is found again.
--before leaves queued and leased URLs as they are. With --held it forgets them too, and their leases end;
--queue then names one queue, of which only URLs whose text is kept can be found: queued and leased ones,
and completed ones if the store keeps URLs. --state, --reason, --match, --after, --fetched-before and --fetched-after select URLs as those of "firstseen find".
Daemons on a store in Redis can continue.`,
		Example: `  firstseen forget --db crawl.db --url https://example.com/a
  firstseen forget --db crawl.db --before 2026-01-31
  firstseen forget --daemon 127.0.0.1:7072 --before 2026-01-31 --held --queue example.org
  firstseen forget --daemon 127.0.0.1:7072 --crawl old --all`,
		Aliases: []string{"purge"}, // an earlier name of forget --held
		Args:    noArgs,
	}
	criteria := []string{"state", "reason", "match", "after", "fetched-before", "fetched-after"}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		f.held = f.held || cmd.CalledAs() == "purge"
		return nil
	}
	f.found.place.onCrawl(a, cmd, func(ctx context.Context, c *client, _ []string) error {
		if slices.ContainsFunc(criteria, cmd.Flags().Changed) {
			return f.found.change(ctx, a, c, "forget", "forgotten")
		}
		requests, err := f.requests()
		if err != nil {
			return err
		}
		crawls, err := c.crawlsOf(ctx, f.found.place.crawl, f.found.queue)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, crawl := range crawls {
			for _, r := range requests {
				r.Crawl = crawl
				var answer wire.Forgotten
				if err := c.post(ctx, "/v1/forget", r, &answer); err != nil {
					return errors.Join(err, a.printForgotten(n, err))
				}
				n += answer.Forgotten
			}
		}
		return a.printForgotten(n, nil)
	})
	cmd.Flags().StringVar(&f.found.queue, "queue", "", "the URLs of a queue")
	moment(cmd.Flags(), &f.found.before, "before", "URLs first seen before an age as 30d or 12h, a day as 2026-01-31, or a time as 2026-01-31T12:00:00Z")
	cmd.Flags().StringArrayVar(&f.urls, "url", nil, "a URL, in any variant; may be given several times")
	cmd.Flags().BoolVar(&f.found.all, "all", false, "the whole crawl, with its queues and settings")
	cmd.Flags().BoolVar(&f.held, "held", false, "with --before: queued and leased URLs too")
	typed(cmd.Flags(), "held")
	f.found.addCriteria(cmd)
	cmd.MarkFlagsOneRequired(append([]string{"url", "queue", "before", "all"}, criteria...)...)
	for _, flag := range []string{"url", "all", "held"} {
		for _, criterion := range criteria {
			cmd.MarkFlagsMutuallyExclusive(flag, criterion)
		}
	}
	return cmd
}

// printForgotten prints the number of URLs, unless it is 0 beside an error.
func (a *app) printForgotten(n int64, err error) error {
	if err != nil && n == 0 {
		return nil
	}
	return a.say(grouped(n) + " forgotten")
}

// requests returns what to ask for in each crawl. That a request names one thing is checked where it is answered.
func (f *forgetFlags) requests() (requests []wire.ForgetRequest, err error) {
	r := wire.ForgetRequest{Queue: f.found.queue, All: f.found.all, Held: f.held, Before: f.found.before}
	if f.held && r.Before.IsZero() {
		_, err := parseMoment("")
		return nil, misuse{err}
	}
	if len(f.urls) == 0 {
		return []wire.ForgetRequest{r}, nil
	}
	const atOnce = 64 // of the longest URLs, escaped, fit a request
	for some := range slices.Chunk(f.urls, atOnce) {
		for _, u := range some {
			r.URLs = append(r.URLs, wire.ForgetURL{URL: u, URLBytes: wire.BytesOf(u)})
		}
		requests = append(requests, r)
		r.URLs = nil
	}
	return requests, nil
}

// moment adds a flag of a time that has passed.
func moment(fs *pflag.FlagSet, at *time.Time, name, usage string) {
	fs.Var(&value{"string", func(text string) (err error) {
		*at, err = wire.Moment(text).At(time.Now())
		return err
	}, func() string { return "" }}, name, usage)
}

// parseMoment reads an age, a day of UTC, or a time.
func parseMoment(s string) (time.Time, error) {
	t, err := wire.Moment(s).At(time.Now())
	if err == nil && t.IsZero() {
		err = errors.New("cannot read time; got nothing; want a day as 2026-01-31, a time as 2026-01-31T12:00:00Z, or an age as 30d")
	}
	return t, err
}

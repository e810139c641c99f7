package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/frontier"
)

func (f *serveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.profile.add(fs)
	fs.StringVar(&f.config, "config", "", `file of settings, a line "name = value" for each flag`)
	fs.BoolVar(&f.check, "check", false, "check the settings, and that the store, on disk or in Redis, opens with them, then exit")
	fs.BoolVar(&f.untilEOF, "until-eof", false, "drain and end when standard input ends: for a daemon that must not outlive the process that started it")
	typed(fs, "until-eof")
	f.addStore(fs)
	f.redis.add(fs)
	f.addPolicy(fs)
	addExclusion(fs, &f.exclude)
	f.addNetwork(fs)
}

func (f *serveFlags) addStore(fs *pflag.FlagSet) {
	fs.StringVar(&f.db, "db", "firstseen.db", "directory of the store; created if it does not exist")
	fs.StringVar(&f.backupDir, "backup-dir", "", "directory for backups of the store, which clients ask for; created if it does not exist")
	addAlsoSeen(fs, &f.also)
	fs.BoolVar(&f.keepURLs, "keep-urls", true, "keep the text of completed and dropped URLs, for clients that list or count them")
	sized(fs, &f.cache, "cache", 1<<20, 64, 16, "memory for the store's cache of rows, in MiB or as 1G")
	sized(fs, &f.buffers, "write-buffers", 1<<20, 64, 4, "memory for the store's write buffers, in MiB or as 1G; with more, rows that come and go are never written to tables, and a start after a kill takes longer")
	sized(fs, &f.index, "index-memory", 1<<20, 0, 0, "memory that the index of the keys may take, in MiB or as 1G, 10 bytes a key; beyond it run files answer",
		special[int64]{0, "for no bound"}, special[int64]{-1, "for no index"})
	sized(fs, &f.minFree, "min-free", 1, 1<<30, 0, "bytes to keep free on the disk, as 200M: with less, writes are refused", special[int64]{-1, "for no such bound"})
}

func (f *serveFlags) addPolicy(fs *pflag.FlagSet) {
	f.addCrawlProfiles(fs, "CRAWL=PROFILE: profile of a crawl if it is not that of --profile; choose it before the first URL of the crawl, it is permanent; with none, a URL is its exact text and key")
	number(fs, &f.policy.Delay, "delay", time.Second, 0, 0, "least time between two hand-outs of a queue, if the queue has no delay of its own", special[time.Duration]{0, "for none"})
	number(fs, &f.policy.MaxInFlight, "max-in-flight", 1, 0, 0, "URLs of a queue that may be leased at the same time, if neither the queue nor its client sets a bound; not for GetURLs, whose calls set max_urls_per_queue",
		special[int]{0, "for no bound"})
	number(fs, &f.policy.Adaptive, "adaptive", 0, 0, 0, "after a fetch whose duration its client reports, the queue waits for this many times the duration, if that is longer than its delay; 0 for off")
	number(fs, &f.policy.Attempts, "attempts", 5, math.MinInt, 0, "failures after which a URL is dropped; negative for no bound")
	number(fs, &f.policy.MaxDeferred, "max-deferred", 100, 0, 0, "deferrals (the host said 429 or 503) after which a URL is dropped", special[int]{0, "for no bound"})
	number(fs, &f.policy.MaxReleased, "max-released", 0, 0, 0, "releases, by clients that did not fetch a URL, after which it is dropped", special[int]{0, "for no bound"})
	number(fs, &f.policy.RetryAfter, "retry-after", 30*time.Second, 0, 0, "wait after the first failure of a URL; twice that after the second, and so on up to an hour")
	number(fs, &f.policy.RecrawlLatest, "recrawl-latest", 0, 0, 0, "longest time after which a page is due again whose client reports recrawl without a time: a quarter of the time since the last fetch if it changed, a quarter more than that time if its status is 304", special[time.Duration]{0, "for at once"})
	number(fs, &f.policy.RecrawlSoonest, "recrawl-soonest", time.Hour, time.Second, 0, "shortest such time; the first time is between the two")
	number(fs, &f.policy.FailingAfter, "failing-after", 5, 1, 0, "failed fetches in a row after which a queue waits as a whole, a minute, then twice as long after each", special[int]{-1, "for never"})
	number(fs, &f.policy.MaxFailingWait, "max-failing-wait", time.Hour, time.Second, 0, "longest wait of a queue whose fetches fail")
	f.addLimitsOfURLs(fs)
	number(fs, &f.captures, "captures", 250_000, 0, 0, "fetches to keep for judging the rules, of those reported with a digest", special[int]{0, "for none"})
	number(fs, &f.policy.SeenFor, "seen-for", 0, 0, 0, "age after which a URL counts as new again, from its last fetch, or from when it was found if it was not fetched, or with --redis", special[time.Duration]{0, "for never"})
}

// addLimitsOfURLs adds the flags by which URLs are refused or given up.
func (f *serveFlags) addLimitsOfURLs(fs *pflag.FlagSet) {
	fs.BoolVar(&f.heuristics, "heuristics", true, "act on what URLs look like and on what fetches bring: --traps, and the rules that hosts of trust_declared declare; false does only what it is told")
	f.traps = trapModes{text: "http", links: "http"}
	fs.Var(&value{"string", f.traps.set, func() string { return f.traps.text }}, "traps", "whose URLs are refused if they look like those of crawler traps: http, all (gRPC as well) or off; with \",yield\", URLs whose template brings nothing new come last, with \",yield,unlisted\" kinds of pages that ask robots for noindex and nofollow are excluded as well, with \",yield-shadow\" they are counted")
	number(fs, &f.policy.MaxDepth, "max-depth", 0, 0, 0, "maximum number of links from a seed", special[int]{0, "for no bound"})
	f.maxExpired[0] = 10
	fs.Var(&value{"int[,int]", f.setMaxExpired, func() string {
		return strings.TrimSuffix(fmt.Sprintf("%d,%d", f.maxExpired[0], f.maxExpired[1]), ",0")
	}}, "max-expired", "expired leases after which a URL is dropped, 0 for no bound; one number is for POST /v1/lease, and HTTP,GRPC sets GetURLs too, which has no bound otherwise")
	oneOf(fs, &f.queueBy, "queue-by", "host", []string{"host", "domain"}, "what shares a queue, and so a delay, of URLs that come without a queue: host, or domain, the registered domain with all its hosts")
	number(fs, &f.policy.MaxPerQueue, "max-per-queue", 0, 0, 0, "maximum number of URLs in a queue", special[int64]{0, "for no bound"})
	number(fs, &f.policy.MaxHeld, "max-held", 0, 0, 0, "maximum number of URLs in the queues of a crawl", special[int64]{0, "for no bound"})
}

// setMaxExpired reads --max-expired, HTTP or HTTP,GRPC.
func (f *serveFlags) setMaxExpired(text string) error {
	var read [2]int
	parts := strings.Split(text, ",")
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || len(parts) > len(read) {
			return fmt.Errorf("got %q; want a number of 0 or more, or two with a comma", text)
		}
		read[i] = n
	}
	f.maxExpired = read
	return nil
}

func (f *serveFlags) addNetwork(fs *pflag.FlagSet) {
	c := &f.server
	fs.StringVar(&c.GRPCAddr, "grpc", "127.0.0.1:7071", "address of the gRPC interface")
	fs.StringVar(&c.HTTPAddr, "http", "127.0.0.1:7072", "address of the HTTP interface, or off")
	fs.StringVar(&c.HealthAddr, "health", "off", "address that answers /healthz and /readyz alone, in the clear and without a certificate or token, for probes")
	fs.StringSliceVar(&c.HTTPHosts, "http-host", nil, "host names that the HTTP interface may be called by without tokens and TLS, besides IP addresses and localhost")
	fs.StringVar(&c.TLS.CertFile, "tls-cert", "", "certificate, PEM")
	fs.StringVar(&c.TLS.KeyFile, "tls-key", "", "key of the certificate, PEM")
	fs.StringVar(&c.TLS.ClientCAFile, "tls-client-ca", "", "roots that clients must have a certificate of, PEM")
	fs.StringVar(&c.TokensFile, "tokens", "", `file of bearer tokens, a line "read|write|admin TOKEN [name=NAME] [crawls=A,B] [adds=N] [leases=N]" for each; N is URLs per second`)
	fs.BoolVar(&c.InsecurePublic, "insecure-public", false, "allow addresses beyond loopback without TLS")
	fs.StringVar(&c.Node, "node", "", "host:port that clients reach this daemon by, for ListNodes; default: the gRPC address")
	number(fs, &c.Drain, "drain", 20*time.Second, math.MinInt64, 0, "maximum time of a shutdown")
}

// readSettings applies a file of settings, and opens the log again by them.
func (a *app) readSettings(flags *pflag.FlagSet, name string) error {
	if name == "" {
		return nil
	}
	if err := flagsFromFile(flags, givenOf(flags), name); err != nil {
		return err
	}
	a.openLog(flags.Lookup("log-format").Value.String())
	return nil
}

// givenOf returns the names of the flags that were set.
func givenOf(flags *pflag.FlagSet) map[string]bool {
	given := make(map[string]bool)
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	return given
}

// flagsFromFile sets the flags that were not given from a file of lines "name = value". Empty lines and those
// that begin with # are skipped.
func flagsFromFile(flags *pflag.FlagSet, given map[string]bool, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot %w", err) // open NAME: why
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	var errs []error // all of them, so that one look mends the file
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if err := setFromLine(flags, given, line); err != nil {
			errs = append(errs, fmt.Errorf("%s line %d: %w", name, n, err))
		}
	}
	if err := scan.Err(); err != nil {
		errs = append(errs, fmt.Errorf("cannot read settings: %w", err))
	}
	return errors.Join(errs...)
}

func setFromLine(flags *pflag.FlagSet, given map[string]bool, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, value, ok := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	flag := flags.Lookup(name)
	if !ok || flag == nil || name == "config" || name == "help" {
		hint := ""
		if meant := nearest(name, flagNamesOf(flags)); ok && meant != "" {
			hint = "; did you mean " + meant + "?"
		}
		return fmt.Errorf("cannot use setting; got %q; want the name of a flag, =, and its value%s", name, hint)
	}
	if given[name] {
		return nil
	}
	if value == "" && slices.Contains(mustName, name) {
		return fmt.Errorf("cannot use setting %s; got no value; want one, or no such line", name)
	}
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") || strings.Contains(strings.ReplaceAll(value, "\t", " "), " #") {
		return fmt.Errorf("cannot use setting %s; got %s; want a value without quotes, and comments in lines of their own", name, visible(value))
	}
	if err := flags.Set(name, value); err != nil {
		return fmt.Errorf("cannot use setting %s: %w", name, valueError(err))
	}
	return nil
}

var queueFuncs = map[string]frontier.QueueFunc{"host": frontier.ByHost, "domain": frontier.ByDomain}

// frontierOptions is what the flags say in the frontier's terms, where 0 stands for the default.
func (f *serveFlags) frontierOptions() frontier.Options {
	o := f.policy
	o.Lease, o.QueueBy, o.Traps.Off, o.NoHeuristics = 30*time.Second, queueFuncs[f.queueBy], f.traps.links == "off", !f.heuristics
	o.Delay, o.MaxInFlight, o.MaxDeferred, o.MaxExpired = noneIfZero(o.Delay), noneIfZero(o.MaxInFlight), noneIfZero(o.MaxDeferred), noneIfZero(f.maxExpired[0])
	return o
}

// noneIfZero distinguishes a flag that is 0 from the default.
func noneIfZero[T int | int64 | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// trapModes are what --traps names.
type trapModes struct {
	text     string
	links    string // whose URLs the fixed limits refuse: "http", "all" or "off"
	evidence evidence.TrapMode
}

var trapEvidence = map[string]evidence.TrapMode{"": evidence.IgnoreTraps, "yield": evidence.LowerTraps, "yield,unlisted": evidence.LeaveOutTraps, "yield-shadow": evidence.CountTraps}

func (m *trapModes) set(text string) error {
	links, name, _ := strings.Cut(text, ",")
	mode, ok := trapEvidence[name]
	if !ok || !slices.Contains([]string{"http", "all", "off"}, links) {
		return fmt.Errorf("got %q; want http, all or off, alone or with \",yield\", \",yield,unlisted\" or \",yield-shadow\"", text)
	}
	*m = trapModes{text, links, mode}
	return nil
}

// settings are the flags of a daemon, and the file of --config that they were read from.
type settings struct {
	flags *pflag.FlagSet
	given map[string]bool // by the command line or the environment: they have precedence over the file
	file  string          // "" for none
	level string          // the log level, as last read from the file
}

// reload reads the file again. The log level is used at once; the log names the other settings that
// differ from those in force. After an error, nothing changes.
func (s *settings) reload(a *app) error {
	if s.file == "" {
		return nil
	}
	cmd, _, err := newRootCmd(&app{in: a.in, out: io.Discard, err: io.Discard}).Find([]string{"serve"})
	if err == nil {
		err = cmd.ParseFlags(nil) // adds those of all commands
	}
	if err != nil {
		return err
	}
	fresh := cmd.Flags()
	if err := flagsFromFile(fresh, s.given, s.file); err != nil {
		return err
	}
	level, changed := fresh.Lookup("log-level").Value.String(), []string(nil)
	fresh.VisitAll(func(f *pflag.Flag) {
		if have := s.flags.Lookup(f.Name); f.Name != "config" && f.Name != "log-level" && !s.given[f.Name] && have.Value.String() != f.Value.String() {
			changed = append(changed, f.Name)
		}
	})
	if !s.given["log-level"] && level != s.level {
		_ = a.setLevel(level) // as fresh was
		s.level = level
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		a.log.Warn("settings changed that need a restart", "file", s.file, "settings", changed)
	}
	return nil
}

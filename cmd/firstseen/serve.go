package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/cmd/internal/server"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// serveFlags are the flags of the serve command.
type serveFlags struct {
	profile  profileFlags
	server   server.Config
	exclude  *exclusion
	redis    redisFlags
	settings settings
	queueBy  string

	db string
	// backupDir is where backups go; empty for none.
	backupDir string
	also      []pebblestore.AlsoSeen
	config    string
	check     bool
	// untilEOF ends the daemon with its standard input.
	untilEOF   bool
	crawls     []crawlProfile // of --crawl-profile
	keepURLs   bool
	heuristics bool
	traps      trapModes
	maxExpired [2]int           // over HTTP and gRPC
	policy     frontier.Options // as the flags say it, see frontierOptions
	cache      int64
	buffers    int64
	minFree    int64
	captures   int
	index      int64
}

func newServeCmd(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a frontier to fetchers, over gRPC (the URLFrontier protocol) and HTTP",
		Long: `Serve a frontier: clients offer URLs, lease the URLs that may be fetched now, and report the
results. Any client of crawler-commons URLFrontier works unchanged over gRPC. When the daemon
answers OK, the URL is synced to disk.

With --redis the store is in a Redis Cluster. Any number of daemons serve it together, and a
client can use any of them. When a daemon answers OK, the URL is also on one replica, or on as many
as the setting replicas of --redis requires; if that fails, the daemon answers FAIL.

Both ports listen on loopback by default. Other addresses require TLS, or --insecure-public.
--tokens names a file of lines "read TOKEN", "write TOKEN" or "admin TOKEN"; what may follow on a line
bounds the token: name=NAME, crawls=A,B, and URLs per second as adds=N and leases=N.

On SIGTERM and Ctrl-C the daemon drains: it commits and answers everything that it has read. On
SIGHUP it reads the tokens, certificates, rule file, exclusion list and log level again. --config names
a file of settings, a line "name = value" for each flag. Environment variables have precedence over the
file, and flags over both.`,
		Example: `  firstseen serve --db crawl.db
  firstseen serve --db crawl.db --grpc 0.0.0.0:7071 --tls-cert s.pem --tls-key s.key --tokens tokens
  firstseen serve --redis 10.0.0.1:6379,10.0.0.2:6379 --grpc 0.0.0.0:7071 --node crawl1:7071 --insecure-public
  firstseen serve --config /etc/firstseen/serve.conf --check`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			f.settings = settings{flags: cmd.Flags(), given: givenOf(cmd.Flags()), file: f.config}
			if err := a.readSettings(cmd.Flags(), f.config); err != nil {
				return misuse{err}
			}
			f.settings.level = cmd.Flag("log-level").Value.String()
			if err := f.redis.notWith(cmd.Flags(), "db", "cache", "write-buffers", "min-free", "captures", "index-memory", "also-seen", "backup-dir"); err != nil {
				return err
			}
			return f.run(cmd.Context(), a)
		}),
	}
	f.add(cmd)
	return cmd
}

func (f *serveFlags) run(ctx context.Context, a *app) error {
	hup := make(chan os.Signal, 1) // from the start: it would end a daemon that is still opening
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	useProcs()
	base, p, rules, err := f.profiles()
	if err != nil {
		return err
	}
	f.server.Logger, f.server.Level, f.server.MinFree = a.log, &a.level, f.minFree
	f.server.MaxExpiredOverGRPC = f.maxExpired[1]
	f.place()
	if err := errors.Join(f.server.Check(ctx), f.checkNode()); err != nil {
		return misuse{err}
	}
	verdict := "ok"
	if warnings := f.server.Warnings(); len(warnings) > 0 {
		verdict = "ok, but with a warning: " + strings.Join(warnings, "; ")
		for _, warning := range warnings {
			a.log.Warn(warning)
		}
	}
	if f.untilEOF && !f.check {
		ctx = untilEOF(ctx, a.in)
	}
	if err := f.exclude.reload(); err != nil {
		return err
	}
	if f.check {
		found, err := f.checkStore(ctx, a, base)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "%s\n%s\n%s\nprofile %s\ngrpc %s\nhttp %s\n", verdict, f.whereabouts(), found, p, f.server.GRPCAddr, f.server.HTTPAddr)
		return err
	}
	front, closeAll, err := f.open(ctx, a, base)
	if err != nil {
		return err
	}
	f.exclude.log(a.log)
	if err = f.server.Evidence.SetRules(base, p, rules); err == nil {
		err = f.serve(ctx, a, front, hup)
	}
	return errors.Join(err, unlessReported(closeAll(), err))
}

// profiles returns the profile that the store belongs to, and that with the
// rule file, which may change while the store lives; and the text of the file.
func (f *serveFlags) profiles() (base, p *canon.Profile, rules []byte, err error) {
	if base, p, rules, err = f.profile.both(); err != nil {
		return nil, nil, nil, err
	}
	if f.redis.given() && f.heuristics && len(evidence.TrustedHosts(rules)) > 0 {
		return nil, nil, nil, misusef("cannot use trust_declared of the rule file with --redis: daemons that hear of different declarations would make different keys of one URL; learn rules with \"firstseen learn\" instead")
	}
	return base, p, rules, nil
}

// open opens the store and a frontier on it, and returns what closes both.
func (f *serveFlags) open(ctx context.Context, a *app, p *canon.Profile) (*frontier.Frontier, func() error, error) {
	st, err := f.openStore(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	f.server.Exports = st
	sample, sampleErr := f.openCaptures(a.log)
	var front *frontier.Frontier // fetches are reported after New has returned
	learned := evidence.New(evidence.Options{
		Off: !f.heuristics, Traps: f.traps.evidence, Captures: sample, CapturesError: sampleErr, Logger: a.log,
		Saved:   filepath.Join(f.db, "declared.json"),
		Profile: func() *canon.Profile { return front.Profile("*") },
		Use:     func(p *canon.Profile) error { return front.SetProfile(p) },
	})
	f.server.Evidence = learned
	opt := f.frontierOptions()
	opt.Profile, opt.Exclude, opt.Logger = p, f.exclude.excluder(), a.log
	opt.OnFetched = func(r frontier.Fetched) { learned.Offer(&r) }
	if f.traps.evidence != evidence.IgnoreTraps {
		opt.Lower = learned.Lower
	}
	if list := opt.Exclude; f.traps.evidence == evidence.LeaveOutTraps {
		opt.Exclude = func(canonical string) bool { return list != nil && list(canonical) || learned.Exclude(canonical) }
	}
	front, err = frontier.New(st, opt)
	if err != nil {
		closeCaptures(a.log, sample)
		return nil, nil, errors.Join(err, st.Close())
	}
	return front, func() error {
		err := front.Close()
		closeCaptures(a.log, sample)
		return errors.Join(err, st.Close())
	}, nil
}

// serve runs the server until ctx ends.
func (f *serveFlags) serve(ctx context.Context, a *app, front *frontier.Frontier, hup <-chan os.Signal) error {
	for _, c := range f.crawls {
		if err := front.SetCrawlProfile(ctx, c.crawl, c.profile); err != nil {
			return err
		}
	}
	f.server.Queues = server.QueueDefaults{MaxInFlight: f.policy.MaxInFlight, Delay: f.policy.Delay}
	f.server.Profile, f.server.TrapsOverGRPC = func() *canon.Profile { return front.Profile("*") }, f.traps.links == "all"
	f.server.Reload = func(context.Context) error {
		base, p, rules, err := f.profiles()
		if err == nil {
			err = f.server.Evidence.SetRules(base, p, rules)
		}
		err = errors.Join(err, f.settings.reload(a))
		if errExcluded := f.exclude.reload(); errExcluded != nil {
			return errors.Join(err, errExcluded)
		}
		f.exclude.log(a.log)
		return err
	}
	defer allowGarbage()()
	s, err := server.New(ctx, front, f.server)
	if err != nil {
		return err
	}
	if err := s.Listen(ctx); err != nil {
		return err
	}
	go reloadOn(ctx, hup, a, s, f.server.Warnings)
	report := func(state string) {
		if err := notify(state); err != nil {
			a.log.Error("cannot report the state of the daemon to the service manager", "error", err)
		}
	}
	report("READY=1")
	defer context.AfterFunc(ctx, func() { report("STOPPING=1") })()
	return s.Serve(ctx)
}

// reloadOn renews what can be renewed at each signal, until ctx ends.
func reloadOn(ctx context.Context, hup <-chan os.Signal, a *app, s *server.Server, warnings func() []string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			for _, warning := range warnings() {
				a.log.Warn(warning)
			}
			if err := s.Reload(ctx); err != nil {
				a.log.Error("not everything was reloaded; what the error names stays as it was", "error", err)
				continue
			}
			a.log.Info("reloaded")
		}
	}
}

// storeOptions bounds the memory of the store: block cache and write buffers.
func (f *serveFlags) storeOptions() pebblestore.Options {
	return pebblestore.Options{
		KeepURLs:   f.keepURLs,
		AlsoSeen:   f.also,
		IndexBytes: f.index,
		Clock:      storeClock(),
		CacheBytes: f.cache, BufferBytes: f.buffers,
	}
}

// notify sends the service manager that started the daemon a state, as sd_notify(3) does. It does
// nothing if no manager waits for one: systemd sets the variable for units of Type=notify.
func notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	// A name that starts with @ is an abstract socket, here as in the variable.
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("cannot notify the service manager of %s: %w", state, err)
	}
	_, err = c.Write([]byte(state))
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("cannot notify the service manager of %s: %w", state, err)
	}
	return nil
}

// untilEOF returns a context that ends when r does: the write end of a pipe is closed by the
// system, however the process that holds it ends.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		_, _ = io.Copy(io.Discard, r) // any error is an end, too
	}()
	return ctx
}

// The heap of serve may hold garbage of garbagePercent of what is live and garbageRoom together.
// Hundreds of thousands of messages a second come and go: with the default of Go, as much as is
// live, Go would scan a small heap as often. It would leave room for twice what clients are
// served with when these take no answers.
const (
	garbageRoom    = 160 << 20
	garbagePercent = 50
)

// allowGarbage makes that room, until the caller calls the function it returns: a block that
// counts as live, and takes no memory since nothing writes to it. A Builder does not clear it,
// unlike make, which clears all of it if the heap used a page of it before. allowGarbage does
// nothing if the operator set GOGC or GOMEMLIMIT.
func allowGarbage() func() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	room := new(strings.Builder)
	room.Grow(garbageRoom)
	percent := debug.SetGCPercent(garbagePercent)
	return func() {
		debug.SetGCPercent(percent)
		runtime.KeepAlive(room)
	}
}

// leastProcs is the least GOMAXPROCS of serve. A Go program whose goroutines keep all of its Ps
// busy looks for network traffic only every 10 ms. With one P, one busy client would delay each
// step of every other call by so long. With two, the second one waits for traffic, and the kernel
// runs it as soon as there is some.
const leastProcs = 2

// useProcs raises GOMAXPROCS to leastProcs on a machine with one processor, unless the operator
// has set it.
func useProcs() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < leastProcs {
		runtime.GOMAXPROCS(leastProcs)
	}
}

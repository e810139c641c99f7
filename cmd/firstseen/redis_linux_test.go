package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

// startCluster runs a Redis Cluster of real servers, and returns what --redis takes.
func startCluster(t *testing.T, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real cluster")
	}
	program := filepath.Join(t.TempDir(), "localcluster")
	if out, err := exec.Command("go", "build", "-o", program, "../internal/tools/localcluster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, flags...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() == 75 {
			t.Skip("localcluster cannot run servers here: no redis-server of version 7.0 or later")
		}
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func put(t *testing.T, d *daemon, urls ...string) (statuses []string) {
	t.Helper()
	stream, err := d.client().PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range urls {
		item := &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: u}}}}
		if err := stream.Send(item); err != nil {
			t.Fatal(err)
		}
		ack, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, ack.Status.String())
	}
	return statuses
}

func get(t *testing.T, d *daemon) (urls []string) {
	t.Helper()
	urls = getURLs(t, d.client(), &pb.GetParams{MaxQueues: 10, MaxUrlsPerQueue: 10, DelayRequestable: 600})
	slices.Sort(urls)
	return urls
}

func TestDaemonsShareACluster(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	dir := t.TempDir() // stays empty: nothing is on this machine's disk
	redisFlags := []string{"--redis", addrs}
	a, b := startDaemonOn(t, redisFlags...), startDaemonOn(t, redisFlags...)
	if got := put(t, a, "http://one.example/", "http://two.example/"); !slices.Equal(got, []string{"OK", "OK"}) {
		t.Errorf("A answers %v; want OK", got)
	}
	if got := put(t, b, "HTTP://one.example:80/#x", "http://three.example/"); !slices.Equal(got, []string{"SKIPPED", "OK"}) {
		t.Errorf("B answers %v; want SKIPPED for what A has, OK", got)
	}
	if got := get(t, b); len(got) != 3 {
		t.Errorf("B hands out %v; want all three", got)
	}
	if got := get(t, a); len(got) != 0 {
		t.Errorf("A hands out %v, too; want nothing", got)
	}
	for _, d := range []*daemon{b, a} { // each beats at the latest when it is asked
		nodes, err := d.client().ListNodes(t.Context(), &pb.Empty{})
		if err != nil || d == a && !sameNodes(nodes.Values, a.grpc, b.grpc) {
			t.Errorf("got nodes %v, %v; want %s and %s", nodes, err, a.grpc, b.grpc)
		}
	}
	if status := b.end(syscall.SIGTERM); status != 0 {
		t.Errorf("B ended with %d: %s", status, b.log)
	}
	if nodes, err := a.client().ListNodes(t.Context(), &pb.Empty{}); err != nil || !sameNodes(nodes.Values, a.grpc) {
		t.Errorf("got nodes %v, %v; want A alone", nodes, err)
	}
	toolsOnRedis(t, addrs, dir)
	steerOnRedis(t, addrs)
	checkOnRedis(t, addrs)
}

// checkOnRedis runs serve --check on the store that two daemons shared.
func checkOnRedis(t *testing.T, addrs string) {
	t.Helper()
	for range 2 { // the first makes no store
		for _, c := range []struct {
			redis, profile, want string
			status               int
		}{
			{addrs, "qiita", "store: opens with this profile", statusOK},
			{withSetting(addrs, "prefix=new:"), "qiita", "store: none yet", statusOK},
			{addrs, "whatwg", "whatwg", statusFailed},
		} {
			status, out, errOut := runCommand(t, "serve", "--check", "--redis", c.redis, "--profile", c.profile)
			if status != c.status || !strings.Contains(out+errOut, c.want) {
				t.Errorf("--check of %s by %s: got status %d, %s%s; want %d and %q", c.redis, c.profile, status, out, errOut, c.status, c.want)
			}
		}
	}
}

func sameNodes(got []string, want ...string) bool {
	slices.Sort(want)
	return slices.Equal(got, want)
}

// toolsOnRedis runs the commands that take --redis, on three URLs.
func toolsOnRedis(t *testing.T, addrs, dir string) {
	t.Helper()
	seen := func(where ...string) (n int64) {
		t.Helper()
		status, out, errOut := runCommand(t, append([]string{"stats", "--json"}, where...)...)
		var st wire.Stats
		if err := json.Unmarshal([]byte(out), &st); err != nil || status != 0 {
			t.Fatalf("stats: %d, %v\n%s", status, err, errOut)
		}
		return st.Seen
	}
	must := func(args ...string) {
		t.Helper()
		if status, _, errOut := runCommand(t, args...); status != 0 {
			t.Fatalf("%s: status %d\n%s", args[0], status, errOut)
		}
	}
	db, file := filepath.Join(dir, "db"), filepath.Join(dir, "crawl.fs")
	keys, notes := filepath.Join(dir, "keys"), filepath.Join(dir, "notes")
	must("export", "--redis", addrs, "--output", keys)
	must("import", "--db", filepath.Join(dir, "keys.db"), keys)
	must("export", "--db", filepath.Join(dir, "keys.db"), "--output", keys)
	must("import", "--redis", withSetting(addrs, "prefix=keys:"), keys)
	for _, where := range [][]string{{"--db", filepath.Join(dir, "keys.db")}, {"--redis", withSetting(addrs, "prefix=keys:")}} {
		if got := seen(where...); got != 3 {
			t.Errorf("%v: %d seen after its keys were carried over; want 3", where, got)
		}
	}
	index := filepath.Join(dir, "index.cdx")
	if err := os.WriteFile(index, []byte(archived), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 new", "imported before"} {
		status, out, errOut := runCommand(t, "import", "--redis", withSetting(addrs, "prefix=keys:"), "--notes", notes, index)
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("import of an index: status %d, %s%s; want %q", status, out, errOut, want)
		}
	}
	must("copy", "--from-redis", addrs, "--to-db", db)
	must("forget", "--redis", addrs, "--url", "http://one.example/")
	must("copy", "--from-db", db, "--to-file", file)
	if got := seen("--redis", addrs); got != 2 {
		t.Errorf("%d seen after one was forgotten; want 2", got)
	}
	must("copy", "--from-file", file, "--to-redis", addrs)
	must("copy", "--from-db", db, "--to-redis", withSetting(addrs, "prefix=other:"))
	for _, where := range [][]string{{"--db", db}, {"--redis", addrs}, {"--redis", withSetting(addrs, "prefix=other:")}} {
		if got := seen(where...); got != 3 {
			t.Errorf("%v: %d seen; want 3", where, got)
		}
	}
}

// anyTime is a time in what a command prints.
var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// withoutNow replaces times within three hours of now: at which a store was made or a step was run, or that a step set by an age.
func withoutNow(printed string) string {
	return anyTime.ReplaceAllStringFunc(printed, func(s string) string {
		if at, err := time.Parse(time.RFC3339, s); err == nil && time.Since(at).Abs() < 3*time.Hour {
			return "NOW"
		}
		return s
	})
}

// steerOnRedis runs the steps of TestSteerAgrees on a store on disk and on its copy in Redis: their
// answers and the listings afterwards are the same, apart from the times at which URLs were added
// and steps were run, since each store has its own.
func steerOnRedis(t *testing.T, addrs string) {
	t.Helper()
	db, redis := filepath.Join(t.TempDir(), "db"), withSetting(addrs, "prefix=steer:")
	d := startDaemon(t, db)
	var urls []string
	for _, path := range []string{"a.example/1", "b.example/1", "c.example/1", "d.example/1", "d.example/2", "e.example/1", "f.example/1"} {
		urls = append(urls, "http://"+path)
	}
	verdicts(t, d.http, urls)
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Fatalf("got exit status %d; want 0\n%s", got, d.log)
	}
	command(t, "copy", "--from-db", db, "--to-redis", redis)
	on := func(where []string, args string) string {
		name, rest, _ := strings.Cut(args, " ")
		status, out, errOut := runCommand(t, slices.Concat([]string{name}, where, strings.Fields(rest))...)
		return withoutNow(fmt.Sprintf("%d\n%s%s", status, out, errOut))
	}
	all := []string{"list"}
	for _, step := range steps {
		all = append(all, step.args)
	}
	for _, args := range append(all, "list", "list --queue a.example") {
		disk, remote := on([]string{"--db", db}, args), on([]string{"--redis", redis}, args)
		if disk != remote {
			t.Errorf("%s: got %s in Redis; want as on disk: %s", args, remote, disk)
		}
	}
}

// withSetting adds a setting to addresses of nodes.
func withSetting(addrs, setting string) string {
	first, rest, more := strings.Cut(addrs, ",")
	if first = "redis://" + first + "?" + setting; more {
		first += "," + rest
	}
	return first
}

func TestRedisPlace(t *testing.T) {
	r := redisFlags{[]string{"[::1]:7001", "rediss://crawl@h.example:7000?prefix=a%3A&password-file=%2Fpw&ca=ca.pem&replicas=0&retry=4s&shards=1024"}}
	got, err := r.place()
	want := redisPlace{addrs: []string{"[::1]:7001", "h.example:7000"}, user: "crawl", prefix: "a:", tls: true,
		passwordFile: "/pw", ca: "ca.pem", replicas: 0, shards: 1024, retry: 4 * time.Second}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestRedisMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"serve --redis 127.0.0.1:1 --db x", "--db with --redis"},
		{"serve --redis 127.0.0.1:1 --cache 100", "--cache with --redis"},
		{"serve --redis 127.0.0.1:1 --grpc 0.0.0.0:7071 --insecure-public", "--node"},
		{"stats --redis 127.0.0.1:1 --db x", "--db and --redis are places of different stores: give one of them"},
		{"stats --redis nonsense", "host:port"},
		{"stats --redis redis://127.0.0.1:1?replicas=-1", "replicas=-1"},
		{"stats --redis redis://127.0.0.1:1?shards=many", "shards=many"},
		{"stats --redis redis://127.0.0.1:1?password=x", `got setting "password"`},
		{"stats --redis redis://u:x@127.0.0.1:1", "a password, which others can see"},
		{"stats --redis redis://127.0.0.1:1?ca=x", "want rediss://"},
		{"stats --redis redis://127.0.0.1:1/3", `got "/3" after the address`},
		{"stats --redis http://127.0.0.1:1", `got scheme "http"`},
		{"stats --redis redis://127.0.0.1:1,redis://127.0.0.1:2", "a second URL"},
		{"stats --redis redis://nonsense", "want host:port"},
		{"stats --redis rediss://127.0.0.1:1?ca=redis_linux_test.go", "ca: redis_linux_test.go has no certificate"},
		{"copy --from-db x --from-redis 127.0.0.1:1 --to-db y", "give only one of --from-db, --from-redis"},
		{"copy --to-db y", "give one of --from-db, --from-redis, --daemon, --from-file"},
		{"forget --db x", "give one of --url, --queue, --before, --all"},
		{"forget --db x y", `cannot run forget; got argument "y"; want flags alone`},
		{"import --db x", "cannot run import; got no argument; want at least one file"},
		{"import --db x --redis 127.0.0.1:1 y", "--db with --redis"},
		{"export", "no store is named: give --db DIR, --redis ADDR or, if a daemon has it open, --daemon ADDR"},
		{"stats --nonsense", "cannot run stats: unknown flag: --nonsense"},
	} {
		if status, _, errOut := runCommand(t, strings.Fields(c.args)...); status != statusMisuse || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: status %d, %q; want %d and %q", c.args, status, errOut, statusMisuse, c.want)
		}
	}
	status, _, errOut := runCommand(t, "stats", "--redis", "redis://127.0.0.1:1?retry=1s")
	if status != statusFailed || !strings.Contains(errOut, "127.0.0.1:1") {
		t.Errorf("no server: status %d, %q; want %d", status, errOut, statusFailed)
	}
}

// TestPasswordOfRedis gives passwords in each way, and changes that of a running daemon.
func TestPasswordOfRedis(t *testing.T) {
	const secret = "horse-battery"
	addrs := startCluster(t, "-masters", "0", "-replicas", "0", "-password", secret)
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secret)
	for name, c := range map[string]struct {
		setting, env, want string
	}{
		"file":  {"replicas=0&password-file=" + file, "", "there is no store"}, // it was let in
		"env":   {"replicas=0", secret, "there is no store"},
		"none":  {"", "", "redis server " + addrs + ": NOAUTH"},
		"wrong": {"", "donkey", "redis server " + addrs + ": WRONGPASS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(passwordVariable, c.env)
			status, _, errOut := runCommand(t, "stats", "--redis", withSetting(addrs, c.setting))
			if status != statusFailed || strings.Count(errOut, c.want) != 1 || strings.Contains(errOut, "donkey") {
				t.Errorf("status %d, %q; want %d and %q once", status, errOut, statusFailed, c.want)
			}
		})
	}

	d := startDaemonOn(t, "--redis", withSetting(addrs, "replicas=0&password-file="+file))
	if got := put(t, d, "http://one.example/"); !slices.Equal(got, []string{"OK"}) {
		t.Fatalf("got %v; want OK", got)
	}
	admin := redis.NewClient(&redis.Options{Addr: addrs, Username: "admin", Password: "root"})
	defer admin.Close()
	must := func(args ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	first := redis.NewClient(&redis.Options{Addr: addrs, Password: secret})
	defer first.Close()
	if err := first.Do(t.Context(), "acl", "setuser", "admin", "on", ">root", "~*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	must("config", "set", "requirepass", "correct-horse")
	must("client", "kill", "type", "normal")
	if got := put(t, d, "http://two.example/"); !slices.Equal(got, []string{"FAIL"}) {
		t.Errorf("got %v while the password is wrong; want FAIL", got)
	}
	write("correct-horse")
	if got := put(t, d, "http://one.example/", "http://two.example/"); !slices.Equal(got, []string{"SKIPPED", "OK"}) {
		t.Errorf("got %v; want the new password used", got)
	}

	// The store's warnings are in the program's log.
	must("acl", "setuser", "crawl", "on", ">correct-horse", "~*", "+@all", "-config")
	place := "redis://crawl@" + addrs + "?replicas=0&password-file=" + file
	for level, want := range map[string]int{"warn": 1, "error": 0} {
		_, _, errOut := runCommand(t, "stats", "--redis", place, "--log-format", "json", "--log-level", level)
		if got := strings.Count(errOut, `"level":"WARN","msg":"cannot check the settings of a redis server`); got != want || want == 0 && errOut != "" {
			t.Errorf("level %s: got %q; want %d warnings as JSON", level, errOut, want)
		}
	}
}

// TestSecretsAreNotPrinted gives passwords where none belong: no message repeats them.
func TestSecretsAreNotPrinted(t *testing.T) {
	for _, where := range []string{
		"redis://u:s3cr3t@127.0.0.1:1", "redis://:s3cr3t@127.0.0.1:1", "redis://u:s3cr3t%zz@127.0.0.1:1", "redis://u:a#s3cr3t@127.0.0.1:1", "redis://u:a/s3cr3t@127.0.0.1:1",
		"redis://u:1/s3cr3t@127.0.0.1:1", "redis://u:1?s3cr3t@127.0.0.1:1", "u:s3cr3t@127.0.0.1:1", "redis://u:a,s3cr3t@127.0.0.1:1", "http://u:s3cr3t@127.0.0.1:1", "redis://127.0.0.1:1?password=s3cr3t",
		"127.0.0.1:1,redis://127.0.0.1:1,redis://u:s3cr3t@127.0.0.1:2", "redis://127.0.0.1:1?replicas=0;s3cr3t@a",
	} {
		for _, variable := range []bool{false, true} {
			args := []string{"stats", "--redis", where}
			if variable {
				t.Setenv("FIRSTSEEN_REDIS", where)
				args = args[:1]
			}
			if status, out, errOut := runCommand(t, args...); status != statusMisuse || strings.Contains(out+errOut, "s3cr3t") {
				t.Errorf("%s: got status %d, %s%s; want misuse, without the password", where, status, out, errOut)
			}
		}
	}
}

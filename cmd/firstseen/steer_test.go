package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// steps are commands that steer a store. Each is run on a store and through a daemon.
var steps = []struct {
	args   string
	status int
	want   string // in the output, or in the error
}{
	{"pause --queue a.example", statusOK, "queue a.example of crawl DEFAULT: paused (was not paused)\n"},
	{"pause --queue a.example", statusOK, "nothing changed: paused, "},
	{"delay --queue b.example 90s", statusOK, "delay 1m30s (was default delay)\n"},
	{"limit --queue c.example --completed 5", statusOK, "limit 5 (was no limit)\n"},
	{"limit --queue c.example --in-flight 3", statusOK, "in-flight 3 (was default in-flight)\n"},
	{"set --queue later.example --paused --delay 2s", statusMisuse, `cannot find queue "later.example" in crawl "DEFAULT"; if it is to come, add --create`},
	{"set --queue later.example --paused --delay 2s --create", statusOK, "paused (was not paused), delay 2s (was default delay)\n"},
	{"resume --queue later.example", statusOK, "not paused (was paused)\n"},
	{"set --queue later.example --delay default", statusOK, "default delay (was delay 2s)\n"},
	{"set --crawl DEFAULT --limit 1000 --weight 3", statusOK, "crawl DEFAULT: limit 1,000 (was no limit), weight 3 (was default weight)\n"},
	{"set --crawl other --paused --create", statusOK, "crawl other: paused"},
	{"forget --url HTTP://d.example:80/1#x --url http://d.example/2", statusOK, "2 forgotten\n"},
	{"forget --queue e.example", statusOK, "1 forgotten\n"},
	{"forget --before 2100-01-01", statusOK, "0 forgotten\n"},
	{"purge --before 2100-01-01 --queue f.example", statusOK, "1 forgotten\n"},
	{"purge --before 2000-01-01 --crawl *", statusOK, "0 forgotten\n"},
	{"forget --before 2000-01-01 --held", statusOK, "0 forgotten\n"},
	{"find --state queued", statusOK, "http://b.example/1\n"},
	{"find --match b.example/ --json", statusOK, `"state":"queued"`},
	{"find --match */1$ --count", statusOK, "3\n"},
	{"find --limit 2 --crawl *", statusOK, "http://b.example/1\n"},
	{"find --state lost", statusMisuse, `got state "lost"`},
	{"find --match gopher://a/ --count", statusMisuse, "cannot select URLs: line 1"},
	{"drop --match */*", statusMisuse, "which holds for every URL"},
	{"find --queue none.example", statusMisuse, `cannot find queue "none.example"`},
	{"drop --queue none.example", statusMisuse, `cannot find queue "none.example" in crawl "DEFAULT"`},
	{"requeue --queue none.example --crawl *", statusMisuse, `cannot find queue "none.example" in crawl "DEFAULT", "other"`},
	{"free --queue none.example", statusMisuse, `cannot find queue "none.example"`},
	{"forget --queue none.example", statusMisuse, `cannot find queue "none.example"`},
	{"forget --queue none.example --state queued", statusMisuse, `cannot find queue "none.example"`},
	{"list", statusOK, "b.example\n"},
	{"list --crawl *", statusOK, "b.example of crawl DEFAULT"},
	{"drop --match b.example/1", statusOK, "1 dropped\n"},
	{"find --state dropped", statusOK, "http://b.example/1\n"},
	{"why http://b.example/1", statusOK, "It was dropped"},
	{"requeue --state dropped", statusOK, "1 requeued\n"},
	{"free --crawl DEFAULT --all", statusOK, "0 freed\n"},
	{"free --crawl DEFAULT", statusMisuse, "name a queue, states, reasons"},
	{"free", statusMisuse, "name a queue, states, reasons"},
	{"requeue", statusMisuse, "name a queue, states, reasons"},
	{"drop --all --state queued", statusMisuse, "or add --all (all, over HTTP) for a whole crawl"},
	{"forget --match none.example/", statusOK, "0 forgotten\n"},
	{"why HTTP://B.example:80/1#x", statusOK, "first seen   http://b.example/1\n"},
	{"why http://b.example/1", statusOK, "It is queued, and its queue b.example is "},
	{"why http://x.example/", statusOK, "an offer of it is new"},
	{"why mailto:a@b.example", statusOK, "No crawl takes it"},
	{"pause --crawl DEFAULT --paused=false", statusMisuse, "want set with it"},
	{"resume --crawl DEFAULT --paused", statusMisuse, "want set with it"},
	{"set --crawl DEFAULT --delay 5s --delay default", statusOK, ""},
	{"set --crawl DEFAULT --queue-limit 1_000", statusOK, ""},
	{"set --crawl DEFAULT --queue-limit 0", statusOK, ""},
	{"exclude x.example", statusMisuse, "no crawl is named"},
	{"exclude", statusOK, "no exclusion is in force\n"},
	{"exclude --crawl DEFAULT x.example a.b/", statusOK, "2 exclusions added, 0 taken back; 2 in force"},
	{"exclude --crawl DEFAULT *.", statusMisuse, `cannot exclude: line 1: got "*."; want a name`},
	{"exclude --crawl DEFAULT /", statusMisuse, `got "/", which holds for every URL`},
	{"exclude", statusOK, "x.example "},
	{"why http://x.example/", statusOK, "It is excluded by x.example"},
	{"exclude --crawl DEFAULT --remove y.example", statusMisuse, "there is no such rule"},
	{"exclude --crawl DEFAULT --remove x.example a.b/", statusOK, "2 taken back; 0 in force"},
	{"set --queue g.example --delay 3s --limit 7 --in-flight 2 --blocked-until 2100-01-01 --create", statusOK, ""},
	{"set --queue g.example --blocked-until 2h", statusOK, "of crawl DEFAULT: blocked until"},
	{"set --queue g.example --blocked-until 2100-01-01", statusOK, "(was blocked until"},
	{"set --crawl DEFAULT --order depth", statusOK, "crawl DEFAULT: depth first (was breadth first)\n"},
	{"set --crawl DEFAULT --order breadth", statusOK, "crawl DEFAULT: breadth first (was depth first)\n"},
	{"set --crawl DEFAULT --order random", statusMisuse, `"random" is no order`},
	{"set --queue a.example --order depth", statusMisuse, "got the order of a queue"},
	{"set --crawl DEFAULT --group 192.0.2.1", statusMisuse, "cannot set the group of a crawl"},
	{"set --all --delay 5s", statusOK, "all queues: delay 5s (was default delay)\n"},
	{"set --all --paused --delay default", statusOK, "all queues: paused (was not paused), default delay (was delay 5s)\n"},
	{"set --all --paused --crawl DEFAULT", statusMisuse, "leave out --crawl"},
	{"set --queue a.example", statusMisuse, "give one of --paused"},
	{"set --queue a.example --delay 5", statusMisuse, `"5" is no time`},
	{"set --paused", statusMisuse, "nothing is named; give --queue NAME, --crawl NAME for all queues of a crawl, or --all"},
	{"pause --queue a.example --crawl none", statusMisuse, `cannot find crawl "none"`},
	{"forget --all --crawl none", statusMisuse, `cannot find crawl "none"`},
	{"pause --queue a.example --crawl *", statusMisuse, "settings are of one crawl"},
	{"pause", statusMisuse, "nothing is named"},
	{"pause --crawl none", statusMisuse, `cannot find crawl "none"`},
	{"pause --queue a.example --all", statusMisuse, "give only one of --all, --queue"},
	{"delay --queue a.example soon", statusMisuse, "want a duration"},
	{"delay --queue a.example -- -5s", statusMisuse, "delay_seconds -5; want 0 to 604800"},
	{"delay 5s", statusMisuse, "nothing is named"},
	{"limit --queue a.example --completed -1", statusMisuse, "limit -1"},
	{"limit --queue a.example", statusMisuse, "give one of --paused"},
	{"purge --queue a.example", statusMisuse, "want a day"},
}

// TestSteerAgrees runs the same commands on a store and through the daemon of another one with
// the same URLs: their answers and the states of the queues afterwards are the same.
func TestSteerAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Parallel()
	urls := []string{"http://a.example/1", "http://b.example/1", "http://c.example/1", "http://d.example/1", "http://d.example/2", "http://e.example/1", "http://f.example/1"}
	var listed [2]string
	live := ""
	for i := range listed {
		db := filepath.Join(t.TempDir(), "db")
		d := startDaemon(t, db)
		if got := verdicts(t, d.http, urls); strings.Contains(got, "duplicate") {
			t.Fatalf("got %s; want all new", got)
		}
		where := []string{"--daemon", d.http}
		if i == 1 {
			if got := d.end(syscall.SIGTERM); got != 0 {
				t.Fatalf("got exit status %d; want 0\n%s", got, d.log)
			}
			where = []string{"--db", db}
		}
		for _, s := range steps {
			name, rest, _ := strings.Cut(s.args, " ")
			status, out, errOut := runWhole(t, append(append([]string{name}, where...), strings.Fields(rest)...)...)
			if status != s.status || !strings.Contains(out+errOut, s.want) {
				t.Errorf("%s %q: got status %d, %s%s; want %d and %s", s.args, where[0], status, out, errOut, s.status, s.want)
			}
		}
		if i == 0 {
			live = mustRun(t, "list", "--daemon", d.http, "--json")
			if got := d.end(syscall.SIGTERM); got != 0 {
				t.Fatalf("got exit status %d; want 0\n%s", got, d.log)
			}
		}
		listed[i] = mustRun(t, "list", "--db", db, "--json") + withoutSizes(mustRun(t, "stats", "--db", db, "--json"))

		d = startDaemon(t, db)
		if got := mustRun(t, "list", "--daemon", d.http, "--queue", "b.example"); !strings.Contains(got, "all queues are paused") {
			t.Errorf("after a restart: got %s; want all paused", got)
		}
		mustRun(t, "resume", "--daemon", d.http, "--all")
		if got := mustRun(t, "list", "--daemon", d.http); !strings.Contains(got, "the queue is paused") || strings.Contains(got, "all queues") {
			t.Errorf("after resume: got %s; want one queue paused", got)
		}
	}
	if listed[0] != listed[1] {
		t.Errorf("through the daemon: %s\nin the store: %s", listed[0], listed[1])
	}
	if !strings.HasPrefix(listed[0], live) || strings.Count(live, "all queues are paused") != strings.Count(live, "\n") {
		t.Errorf("the daemon listed %s; want the same, all paused", live)
	}
	if !strings.Contains(listed[0], `"seen":3,"held":3`) {
		t.Errorf("got %s; want 3 URLs", listed[0])
	}
}

var sizes = regexp.MustCompile(`"(disk_bytes|bytes)":\d+`)

func withoutSizes(stats string) string { return sizes.ReplaceAllString(stats, "") }

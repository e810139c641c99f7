package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/firstseen/firstseen/internal/freeport"
)

// app is a web application of the lab. apps/NAME.sh installs it, fills it, serves it and prints its truth.
type app struct {
	name  string
	start string
	cgi   []string // if it is no server but a CGI program: its path, relative to the application's directory, and files that its environment names
	// show returns, of the rows of the truth, what each URL shows: the name of an object, "" for none.
	show func(rows []row) func(u *url.URL) string
}

// apps are in the order in which the table lists them.
var apps = []app{
	{name: "mediawiki", start: "/", show: showMediaWiki},
	{name: "dokuwiki", start: "/", show: showDokuWiki},
	{name: "cgit", start: "/", cgi: []string{"root/usr/lib/cgit/cgit.cgi", "CGIT_CONFIG=cgitrc"}, show: showCgit},
	{name: "wordpress", start: "/", show: showWordPress},
	{name: "trac", start: "/", show: showTrac},
	{name: "oscar", start: "/", show: showOscar},
	{name: "gitweb", start: "/", cgi: []string{"/usr/share/gitweb/gitweb.cgi", "GITWEB_CONFIG=gitweb.conf"}, show: showGitweb},
	{name: "publicinbox", start: "/list/", show: showPublicInbox},
	{name: "ikiwiki", start: "/", show: showIkiwiki},
	{name: "joyous", start: "/", show: showJoyous},
}

func (a *app) host() string { return a.name + ".lab" }
func (a *app) seed() string { return "http://" + a.host() + a.start }

// row is one object of the truth, or one more set of names of an object. What the names mean is the application's.
type row struct {
	Object string            `json:"object"`
	Names  map[string]string `json:"names"`
	Refs   []string          `json:"refs"`
	At     []string          `json:"at"`
	Marker string            `json:"marker"` // a word that the object's page contains; "" if none is known
}

// truth is what an application contains, by its own database.
type truth struct {
	markers map[string]string // of each object; "" if none is known
	show    func(u *url.URL) string
	shown   map[string]string // what was asked before
}

func readTruth(a *app, file string) (*truth, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &truth{markers: map[string]string{}, shown: map[string]string{}}
	var rows []row
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 16<<20); lines.Scan(); {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("cannot read truth %s: %w", file, err)
		}
		rows = append(rows, r)
		if t.markers[r.Object] == "" {
			t.markers[r.Object] = r.Marker
		}
	}
	t.show = a.show(rows)
	return t, lines.Err()
}

// shows returns the object that a URL shows if it is answered with a page, "" for none.
func (t *truth) shows(text string) string {
	object, ok := t.shown[text]
	if !ok {
		if u, err := url.Parse(text); err == nil {
			object = t.show(u)
		}
		t.shown[text] = object
	}
	return object
}

// named returns the objects by one of their names.
func named(rows []row, name string) map[string]string {
	objects := map[string]string{}
	for _, r := range rows {
		if value, ok := r.Names[name]; ok {
			objects[value] = r.Object
		}
	}
	return objects
}

// showMediaWiki: a page is shown by its title, its number, or that of its latest revision, unless the URL asks
// for another action, for a difference, or for the redirect itself.
func showMediaWiki(rows []row) func(u *url.URL) string {
	titles, pages, revisions := named(rows, "title"), named(rows, "curid"), named(rows, "oldid")
	return func(u *url.URL) string {
		q := u.Query()
		if a := q.Get("action"); a != "" && a != "view" && a != "render" && a != "raw" || q.Has("diff") || q.Has("direction") || q.Has("feed") {
			return ""
		}
		title, inPath := strings.CutPrefix(u.Path, "/index.php/")
		if !inPath && u.Path != "/index.php" {
			return ""
		}
		if t := q.Get("title"); t != "" {
			title = t
		}
		title = strings.Trim(strings.ReplaceAll(title, " ", "_"), "_")
		switch {
		case q.Get("oldid") != "":
			return revisions[q.Get("oldid")]
		case q.Get("curid") != "":
			return pages[q.Get("curid")]
		case q.Get("redirect") == "no" && titles[title] != "" && aliases(rows)[title]:
			return ""
		case title == "":
			title = "Main_Page"
		}
		return titles[strings.ToUpper(title[:1])+title[1:]]
	}
}

// aliases are the titles of redirects: they have no marker.
func aliases(rows []row) map[string]bool {
	is := map[string]bool{}
	for _, r := range rows {
		if r.Marker == "" {
			is[r.Names["title"]] = true
		}
	}
	return is
}

// showDokuWiki: a page is shown by its ID, unless the URL asks for another action, an old revision or an index.
func showDokuWiki(rows []row) func(u *url.URL) string {
	ids := named(rows, "id")
	return func(u *url.URL) string {
		q := u.Query()
		if do := q.Get("do"); do != "" && do != "show" && do != "export_xhtml" && do != "export_raw" || q.Get("rev") != "" || q.Has("idx") {
			return ""
		}
		if u.Path != "/doku.php" && u.Path != "/" {
			return ""
		}
		id := strings.ToLower(strings.Trim(q.Get("id"), ":"))
		if id == "" {
			id = "start"
		}
		return ids[strings.ReplaceAll(id, " ", "_")]
	}
}

// showCgit: a commit is shown by its hash or a name that points to it, as a page, as one limited to a path,
// or as a patch; a file at the default branch is shown at each commit at which it is the same.
func showCgit(rows []row) func(u *url.URL) string {
	commits, tags, refs, at := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for _, r := range rows {
		hash := r.Names["commit"]
		if hash != "" {
			commits[hash] = r.Object
		}
		if tag := r.Names["tag"]; tag != "" {
			tags[tag] = r.Object
		}
		for _, ref := range r.Refs {
			refs[ref] = hash
		}
		for _, commit := range r.At {
			at[commit+" "+r.Names["path"]] = r.Object
		}
	}
	return func(u *url.URL) string {
		q := u.Query()
		parts := strings.SplitN(strings.TrimPrefix(u.Path, "/lab/"), "/", 2)
		if len(parts) < 2 || !strings.HasPrefix(u.Path, "/lab/") {
			return ""
		}
		commit := q.Get("id")
		if commit == "" {
			commit = refs[q.Get("h")]
		}
		if commit == "" {
			commit = refs["master"]
		}
		switch parts[0] {
		case "patch":
			if parts[1] != "" { // of one path: the message comes with it only if the commit changes the path
				return ""
			}
			return commits[commit]
		case "commit":
			return commits[commit]
		case "tree", "plain":
			return at[commit+" "+parts[1]]
		case "tag":
			return tags[q.Get("h")]
		}
		return ""
	}
}

// showGitweb: a commit is shown by its hash or name, as a page, with its difference or as a patch; a file at the
// default branch by its blob.
func showGitweb(rows []row) func(u *url.URL) string {
	commits, tags, refs, blobs := named(rows, "commit"), named(rows, "tag"), map[string]string{}, map[string]string{}
	for _, r := range rows {
		for _, ref := range r.Refs {
			refs[ref], refs["refs/heads/"+ref] = r.Names["commit"], r.Names["commit"]
		}
		if blob := r.Names["blob"]; blob != "" {
			blobs[blob+" "+r.Names["path"]] = r.Object
		}
	}
	refs[""], refs["HEAD"] = refs["master"], refs["master"]
	return func(u *url.URL) string {
		q, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, ";", "&"))
		if err != nil || q.Get("p") != "lab.git" {
			return ""
		}
		h := q.Get("h")
		switch q.Get("a") {
		case "commit", "commitdiff", "commitdiff_plain", "patch":
			if commit := refs[h]; commit != "" {
				h = commit
			}
			if hp := q.Get("hp"); hp != "" {
				return "" // the difference from another commit
			}
			return commits[h]
		case "blob", "blob_plain":
			return blobs[h+" "+q.Get("f")]
		case "tag":
			return tags[strings.TrimPrefix(h, "refs/tags/")]
		}
		return ""
	}
}

// showWordPress: a post is shown at its path or by its number, whichever comment is replied to.
func showWordPress(rows []row) func(u *url.URL) string {
	paths, numbers := named(rows, "path"), named(rows, "p")
	return func(u *url.URL) string {
		q := u.Query()
		path, _, _ := strings.Cut(strings.Trim(u.Path, "/"), "/comment-page-")
		switch {
		case q.Has("feed"):
			return ""
		case path != "":
			return paths[path]
		case q.Get("p") != "":
			return numbers[q.Get("p")]
		}
		return numbers[q.Get("page_id")]
	}
}

// showTrac: a ticket, a wiki page or a milestone is shown at its path, in whatever format, unless the URL asks for
// another action or an old version.
func showTrac(rows []row) func(u *url.URL) string {
	tickets, pages, milestones, latest := named(rows, "ticket"), named(rows, "wiki"), named(rows, "milestone"), named(rows, "version")
	return func(u *url.URL) string {
		q := u.Query()
		kind, name, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		if q.Has("action") {
			return ""
		}
		switch kind {
		case "ticket":
			return tickets[name]
		case "milestone":
			return milestones[name]
		case "", "wiki":
			if name == "" {
				name = "WikiStart"
			}
			if v := q.Get("version"); v != "" {
				return latest[name+" "+v]
			}
			return pages[name]
		}
		return ""
	}
}

// showOscar: a product or a review is shown by its number, whatever the words before it, in each language; an offer by its name.
func showOscar(rows []row) func(u *url.URL) string {
	products, reviews, offers := named(rows, "product"), named(rows, "review"), named(rows, "offer")
	return func(u *url.URL) string {
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(parts) < 3 {
			return ""
		}
		number := parts[2][strings.LastIndexByte(parts[2], '_')+1:]
		switch {
		case parts[1] == "offers" && len(parts) == 3 && !u.Query().Has("page"):
			return offers[parts[2]]
		case parts[1] == "catalogue" && len(parts) == 3:
			return products[number]
		case parts[1] == "catalogue" && len(parts) == 5 && parts[3] == "reviews":
			return reviews[number+" "+parts[4]]
		}
		return ""
	}
}

// showPublicInbox: a message is shown at its own address, as a page or raw; threads and topics are lists.
func showPublicInbox(rows []row) func(u *url.URL) string {
	messages := named(rows, "id")
	return func(u *url.URL) string {
		id, format, _ := strings.Cut(strings.TrimPrefix(u.Path, "/list/"), "/")
		if format != "" && format != "raw" {
			return ""
		}
		return messages[id]
	}
}

// showIkiwiki: a page is shown in the directory of its name.
func showIkiwiki(rows []row) func(u *url.URL) string {
	pages := named(rows, "page")
	return func(u *url.URL) string {
		return pages[cmp.Or(strings.Trim(strings.TrimSuffix(u.Path, "/index.html"), "/"), "index")]
	}
}

// showJoyous: an event is shown at its path, in whatever format.
func showJoyous(rows []row) func(u *url.URL) string {
	paths := named(rows, "path")
	return func(u *url.URL) string { return paths[strings.Trim(u.Path, "/")] }
}

// serve starts the application and returns a function that asks it, and one that stops it.
func (a *app) serve(ctx context.Context, l *lab) (live func(context.Context, string) (*answer, error), stop func(), err error) {
	dir := filepath.Join(l.dir, a.name)
	if len(a.cgi) > 0 {
		env := append([]string(nil), a.cgi[1:]...)
		for i, e := range env { // paths are the application's
			name, value, _ := strings.Cut(e, "=")
			env[i] = name + "=" + filepath.Join(dir, value)
		}
		path := a.cgi[0]
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		h := &cgi.Handler{Path: path, Dir: dir, Env: env, Root: "/", Stderr: io.Discard}
		return func(ctx context.Context, url string) (*answer, error) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
			return kept(w.Result())
		}, func() {}, nil
	}
	addrs, release, err := freeport.Take(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := strings.Cut(addrs[0], ":")
	cmd := l.script(context.WithoutCancel(ctx), a, "serve", "PORT="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its workers end with it
	if err := cmd.Start(); err != nil {
		release()
		return nil, nil, err
	}
	stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
		release()
	}
	client := &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	live = func(ctx context.Context, text string) (*answer, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, text, nil)
		if err != nil {
			return nil, err
		}
		req.Host, req.URL.Host = req.URL.Host, addrs[0]
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		return kept(resp)
	}
	for range 600 { // until it listens
		if _, err = live(ctx, a.seed()); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("cannot start %s: %w", a.name, err)
	}
	return live, stop, nil
}

// kept makes an answer of a response.
func kept(resp *http.Response) (*answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a := &answer{Status: resp.StatusCode, Header: http.Header{}, Body: body}
	for _, name := range keptFields {
		if values := resp.Header.Values(name); len(values) > 0 {
			a.Header[name] = values
		}
	}
	return a, nil
}

// prepare installs and fills the application, unless that was done, and reads its truth.
func (l *lab) prepare(ctx context.Context, a *app) (*truth, error) {
	dir := filepath.Join(l.dir, a.name)
	file := filepath.Join(dir, "truth.jsonl")
	if _, err := os.Stat(file); err == nil {
		return readTruth(a, file)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, verb := range []string{"install", "fill"} {
		l.say("%s: %s", a.name, verb)
		if out, err := l.script(ctx, a, verb).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot %s %s: %w\n%s", verb, a.name, err, out)
		}
	}
	out, err := l.script(ctx, a, "truth").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot read the contents of %s: %w", a.name, err)
	}
	if err := os.WriteFile(file, out, 0o644); err != nil {
		return nil, err
	}
	return readTruth(a, file)
}

// script is the command apps/NAME.sh VERB in the application's directory.
func (l *lab) script(ctx context.Context, a *app, verb string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", filepath.Join(l.tools, "apps", a.name+".sh"), verb)
	cmd.Dir = filepath.Join(l.dir, a.name)
	cmd.Env = append(os.Environ(), "HOST="+a.host(), "ARTICLES="+filepath.Join(l.dir, "articles.json"))
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

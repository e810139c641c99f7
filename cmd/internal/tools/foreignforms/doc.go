// Package foreignforms makes files of URLs in the forms that other programs write: exports of SEO tools, analytics and
// bookmark services, data sets, and the logs of servers, proxies and load balancers. Each file comes with the URLs that a
// correct reader must find in it. Tests of readers use it to meet files that their authors didn't have in mind:
//
//	for _, f := range foreignforms.Files(seed, 2000) {
//		got, err := read(f.Data, f.Flags)
//		switch {
//		case f.Want == nil:
//			// err must say what the user has to tell; got must be empty
//		case f.Telling:
//			// err must be nil and got equal to f.Want
//		default:
//			// got equal to f.Want, or a refusal; never other URLs
//		}
//	}
//
// Rules that hold for every file:
//
//   - Compare got and Want after canonicalising both: Want spells a URL as the file does. Where a log has the parts of a
//     URL, Want joins them without the default port; where it has the whole URL, Want keeps a default port.
//   - No two URLs of a file are alike, and each has a number of its own in its path. A reader that drops duplicates or
//     query parameters gives the same lines.
//   - URLs that a reader must not take, such as referrers, are on the host decoy.example.
//   - A log lists each request that names a URL, whatever its method and status. CONNECT, OPTIONS * and bytes that are
//     not HTTP name none.
//   - A request target that starts with two slashes is a path (RFC 9112 section 3.2.1), not another host; a target in
//     absolute form wins over the log's host and over --base (section 3.2.2).
//   - Where a log has the host but neither scheme nor port, the user gives --base and the URL takes its scheme. The names of
//     such files contain "/schemeless".
//
// The generators don't use the readers or the URL parser of this module, so that both can't be wrong in the same way.
package foreignforms

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// File is one file as a user might have it, and what a reader must find in it.
type File struct {
	Name    string   // what the file combines, such as "table/semrush-positions/semicolon/quoted/header/col7/utf16le"
	Data    []byte   // the file
	Flags   []string // flags that the user has to give, such as --base URL for a log without hosts; mostly none
	Want    []string // the URLs in the order of the file; nil if a reader must refuse the file
	Telling bool     // a person would not doubt which part is the URL; if false, a reader may refuse even if Want is set
	Why     string   // where the form comes from, and what is special about this file
}

// Files returns n files, half of them tables and half of them logs. The same seed gives the same files; no name occurs
// twice in one call.
func Files(seed int64, n int) []File {
	files := make([]File, 0, n)
	times := map[string]int{}
	for i := range n {
		// Each file has a source of its own, so that a failing file stays the same when a form before it changes.
		g := &gen{Rand: rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
		var f File
		if i%2 == 0 {
			f = g.table()
		} else {
			f = g.log()
		}
		times[f.Name]++
		if k := times[f.Name]; k > 1 {
			f.Name = fmt.Sprintf("%s#%d", f.Name, k)
		}
		files = append(files, f)
	}
	return files
}

// gen holds the random source of one file, and the number of its last URL.
type gen struct {
	*rand.Rand
	serial int
}

func pick[T any](g *gen, from ...T) T { return from[g.IntN(len(from))] }

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

// path returns the path and query of the next URL. Commas, semicolons, a URL in the query, an @ and parentheses are all
// common in live URLs, and each is a trap for readers that split lines or look for a part that resembles a URL.
func (g *gen) path() string {
	g.serial++
	form := pick(g, "/p/%d", "/blog/2026/11/post-%d.html", "/%d/", "/shop/item-%d?color=red&size=xl",
		"/artikel/a-%d,12345,0.html", "/kat;typ=3/liste-%d", "/search/%d?q=caf%%C3%%A9+au+lait",
		"/content-%d.php?option=com;view=list,grid", "/@user/%d", "/wiki/Foo_(bar)_%d",
		"/out/%d?u=https://decoy.example/target", "/maps/%d/@52.5,13.4,17z", "/GET/%d/HTTP/1.1", "/img/%d.jpg")
	return fmt.Sprintf(form, g.serial)
}

func (g *gen) host() string {
	return pick(g, "www.example.com", "shop.example.net", "example.org", "blog.example.co.uk", "xn--mller-kva.example")
}

// url returns an absolute URL of a page.
func (g *gen) url() string {
	return pick(g, "https", "https", "https", "http") + "://" + g.host() + pick(g, "", "", "", ":8080") + g.path()
}

// decoy returns an absolute URL that a reader must not take for the URL of the row or the request.
func (g *gen) decoy(kind string) string {
	return fmt.Sprintf("https://decoy.example/%s/%d%s", kind, g.IntN(100000), pick(g, "", "?a=1,2;3", ".html"))
}

func (g *gen) ip() string {
	return pick(g, "203.0.113.7", "198.51.100.23", "192.0.2.144", "2001:db8::1f:7", "2001:db8:85a3::8a2e:370:7334", "::1")
}

// joinName joins the parts of a name that are not empty.
func joinName(parts ...string) string {
	kept := parts[:0:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "/")
}

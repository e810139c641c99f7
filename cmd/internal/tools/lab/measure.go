package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
)

// kind is what a fetch was good for.
type kind int

const (
	newObject kind = iota // showed an object that no fetch before had shown
	again                 // showed an object that a fetch before had shown: waste
	led                   // showed no object, and was the first page with a link that led to a new one, by pages or redirects
	barren                // showed no object, and led to none: waste
	redirect
	failed
	numKinds
)

var kindNames = [numKinds]string{"new", "again", "led", "barren", "redirect", "error"}

// result is what one crawl cost.
type result struct {
	crawler string
	log     []string
	kinds   []kind         // of each fetch
	objects map[string]int // the fetch that first showed each
	limited bool           // it was stopped by the limit
}

// judge says what each fetch of a crawl was good for. A navigation page is credited with a link only if no page
// fetched before it had the link: had it not been fetched, the object would have been missed or come later.
func judge(crawler string, rec *recording, t *truth, log []string, limit int) *result {
	r := &result{crawler: crawler, log: log, kinds: make([]kind, len(log)), objects: map[string]int{}, limited: len(log) >= limit}
	keys := canonical{}
	from := map[string]int{} // the fetch that first linked to a URL
	note := func(target string, by int) {
		if key := keys.of(target); key != "" {
			if _, ok := from[key]; !ok {
				from[key] = by
			}
		}
	}
	note(log[0], -1)
	for i, u := range log {
		a := rec.peek(u)
		object := t.shows(u)
		switch {
		case a.Status/100 == 3:
			r.kinds[i] = redirect
			if at, err := url.Parse(u); err == nil {
				if target, err := at.Parse(a.Header.Get("Location")); err == nil {
					note(target.String(), i)
				}
			}
		case a.Status != http.StatusOK:
			r.kinds[i] = failed
		case object == "":
			r.kinds[i] = barren
		default:
			if _, ok := r.objects[object]; ok {
				r.kinds[i] = again
			} else {
				r.objects[object] = i
			}
		}
		if r.kinds[i] != failed && r.kinds[i] != redirect {
			for _, l := range rec.links(u) {
				note(l.url, i)
			}
		}
	}
	for _, at := range r.objects {
		for {
			by, ok := from[keys.of(log[at])]
			if !ok || by < 0 || by >= at || r.kinds[by] == led { // a page may be linked only after it was fetched: it was asked for unlinked
				break
			}
			if r.kinds[by] == barren {
				r.kinds[by] = led
			}
			at = by
		}
	}
	return r
}

// canonical remembers canonical forms.
type canonical map[string]string

func (c canonical) of(u string) string {
	form, ok := c[u]
	if !ok {
		form, _ = canon.Qiita().Canonicalize(u) // "" if it is no URL to fetch
		c[u] = form
	}
	return form
}

// until returns how many fetches it took to read a share of the objects, 0 if that never came.
func (r *result) until(reachable int, share float64) int {
	at := slices.Sorted(maps.Values(r.objects))
	need := int(float64(reachable)*share + 0.999999)
	if need < 1 || need > len(at) {
		return 0
	}
	return at[need-1] + 1
}

// waste returns the share of the first n fetches that were waste, in per cent.
func (r *result) waste(n int) float64 {
	if n == 0 {
		return 0
	}
	waste := 0
	for _, k := range r.kinds[:n] {
		if k == again || k == barren {
			waste++
		}
	}
	return 100 * float64(waste) / float64(n)
}

// table prints the crawls of an application side by side.
func (l *lab) table(a *app, t *truth, results []*result) {
	reachable := map[string]bool{}
	for _, r := range results {
		for o := range r.objects {
			reachable[o] = true
		}
	}
	fmt.Fprintf(l.out, "\n## %s: %d objects, %d of them found by some crawl\n\n", a.name, len(t.markers), len(reachable))
	fmt.Fprintln(l.out, "| crawler | fetches | waste % | new | again | led | barren | redirect | error | lost | 50 % | 90 % | 99 % | waste % until 99 % |")
	fmt.Fprintln(l.out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range results {
		var n [numKinds]int
		for _, k := range r.kinds {
			n[k]++
		}
		fetches := fmt.Sprint(len(r.log))
		if r.limited {
			fetches += "+"
		}
		at := func(share float64) string {
			if n := r.until(len(reachable), share); n > 0 {
				return fmt.Sprint(n)
			}
			return "–"
		}
		until := "–"
		if n := r.until(len(reachable), 0.99); n > 0 {
			until = fmt.Sprintf("%.1f", r.waste(n))
		}
		fmt.Fprintf(l.out, "| %s | %s | %.1f | %d | %d | %d | %d | %d | %d | %d | %s | %s | %s | %s |\n", r.crawler, fetches, r.waste(len(r.log)),
			n[newObject], n[again], n[led], n[barren], n[redirect], n[failed], len(reachable)-len(r.objects), at(0.5), at(0.9), at(0.99), until)
	}
}

// lost prints why objects that other crawls found were not found by ours.
func (l *lab) lost(r *result, o *ours, t *truth, reachable map[string]bool) {
	fetched, shown := map[string]bool{}, map[string]string{}
	for _, u := range r.log {
		fetched[u] = true
		shown[(canonical{}).of(u)] = u
	}
	why := map[string][]string{}
	for object := range reachable {
		if _, ok := r.objects[object]; ok {
			continue
		}
		cause, example := "no link to it on any page fetched", object
		for u, result := range o.offered {
			if t.shows(u) != object {
				continue
			}
			example = u
			switch first := shown[result.Canonical]; {
			case result.Reason != "":
				cause = "refused: " + string(result.Reason)
			case first == "":
				cause = "still queued"
			default:
				cause = "merged into a URL that shows another"
				example += " into " + first
			}
			break
		}
		why[cause] = append(why[cause], example)
	}
	for _, cause := range slices.Sorted(maps.Keys(why)) {
		slices.Sort(why[cause])
		fmt.Fprintf(l.out, "\n%s lost %d: %s, as %s\n", r.crawler, len(why[cause]), cause, why[cause][0])
	}
}

// wasted prints the templates of the URLs that a crawl wasted most fetches on.
func (l *lab) wasted(r *result, most int) {
	count := map[string]int{}
	total := 0
	for i, k := range r.kinds {
		if k == again || k == barren {
			count[kindNames[k]+" "+template(r.log[i])]++
			total++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	fmt.Fprintf(l.out, "\n%s wasted %d fetches:\n\n", r.crawler, total)
	for _, name := range names[:min(most, len(names))] {
		fmt.Fprintf(l.out, "    %5d  %s\n", count[name], name)
	}
}

var (
	word   = regexp.MustCompile(`^[a-z_]{1,16}$`)
	hashes = regexp.MustCompile(`[0-9a-f]{40}`)
)

// template returns a URL's path, shortened, with its parameters; values that look like words are kept.
func template(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 3)
	for i, p := range parts {
		if i > 0 && !word.MatchString(p) {
			if before, _, ok := strings.Cut(p, ":"); ok && parts[0] != p {
				parts[i] = before + ":…"
				if before == "Special" {
					parts[i] = p
				}
			} else {
				parts[i] = "…"
			}
		}
	}
	if len(parts) > 2 {
		parts[2] = "…"
	}
	var query []string
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		value := u.Query().Get(name)
		if strings.HasPrefix(value, "Special:") {
			value, _, _ = strings.Cut(value, "/")
			name += "=" + value
		} else if word.MatchString(value) {
			name += "=" + value
		}
		query = append(query, name)
	}
	path := hashes.ReplaceAllString("/"+strings.Join(parts, "/"), "…")
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

package evidence

import (
	"strings"
	"testing"

	"github.com/firstseen/firstseen/cmd/internal/synth"
	"github.com/firstseen/firstseen/frontier"
)

// TestLinksOfCalendars: the links of a fetch do not tell a calendar from an honest archive. Fetches of
// either lead to new URLs of their own directory, about one for each fetch, and to no other new URL.
func TestLinksOfCalendars(t *testing.T) {
	const pages = 1500
	for kind, dir := range map[synth.Trap]string{synth.TrapCalendar: "/events/", synth.HonestDeep: "/archive/"} {
		w := synth.NewTrapWeb(synth.TrapOptions{Seed: 1, Kind: kind, Hosts: 2})
		is, offered := crawled{real: map[string]int{}}, map[string]bool{}
		fetches, own, others := 0, 0, 0
		is.crawl(t, w, pages, frontier.Options{Delay: -1, MaxInFlight: -1, OnFetched: func(f frontier.Fetched) {
			inside := strings.Contains(f.URL, dir)
			if inside {
				fetches++
			}
			for _, link := range w.Page(f.URL, 0).Links {
				switch {
				case offered[link] || !inside:
				case strings.Contains(link, dir):
					own++
				default:
					others++
				}
				offered[link] = true
			}
		}})
		t.Logf("%s: %d fetches below %s lead to %d new URLs there, and to %d others", kind, fetches, dir, own, others)
		if others != 0 || own < fetches*9/10 || own > fetches*11/10 {
			t.Errorf("%s: %d fetches below %s lead to %d new URLs there, and to %d others; want as many, and none", kind, fetches, dir, own, others)
		}
	}
}

package logs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// moment is a time as people and programs write it. Only days are the same in all forms that have no clock.
var moment = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// TestTimesOfRecords writes one moment in each form, under each name, in each format: it is read, or the record has no time.
func TestTimesOfRecords(t *testing.T) {
	forms := []string{"1748779200", "1748779200000", "1748779200000000", "1748779200000000000", "1748779200.0", "1.7487792e9", "20250601120000",
		"2025-06-01T12:00:00Z", "2025-06-01T12:00:00.000Z", "2025-06-01T14:00:00+02:00", "2025-06-01T14:00:00+0200", "2025-06-01T12:00:00", "2025-06-01T12:00",
		"2025-06-01 12:00:00", "2025-06-01 12:00", "2025-06-01 12:00:00 UTC", "2025-06-01 12:00:00+00", "2025-06-01 14:00:00 +0200", "2025-06-01 12:00:00 +0000 UTC", "2025-06-01 12:00:00,000",
		"2025-06-01 12:00:00 PM", "2025/06/01 12:00:00", "2025/06/01 12:00", "01/Jun/2025:12:00:00 +0000", "[01/Jun/2025:14:00:00 +0200]", "Sun, 01 Jun 2025 12:00:00 GMT", "Sun, 01 Jun 2025 14:00:00 +0200",
		"Sun Jun  1 12:00:00 2025", "Sun Jun 01 12:00:00 UTC 2025", "1 Jun 2025 12:00:00", "Jun 1, 2025 12:00:00"}
	names := []string{"timestamp", "time", "ts", "date", "Crawl Timestamp", "datetime", "fetched_at", "crawledAt", "last_crawled", "Last crawled", "Date Crawled", "visited_at", "created_at", "startedDateTime", "fetch_time",
		"fetchedDate", "crawl-date", "last_visit_time", "retrieved_at", "scraped_at", "EdgeStartTimestamp", "@timestamp", "eventTime", "captured_on", "checked_at"}
	for _, form := range forms {
		if got := ParseTime(form); !got.Equal(moment) {
			t.Errorf("%q: got %v", form, got)
		}
		for _, name := range names {
			text, _ := json.Marshal(form)
			for format, text := range map[string]string{
				"CSV":         fmt.Sprintf("url;%s;status\nhttp://a.example/;%s;200\n", name, form),
				"JSON":        fmt.Sprintf(`{"url":"http://a.example/","status":200,%q:%s}`+"\n", name, text),
				"extended":    fmt.Sprintf(`{"url":"http://a.example/","status":200,%q:{"$date":%s}}`+"\n", name, text),
				"a request":   fmt.Sprintf(`{"host":"a.example","request":"GET / HTTP/1.1","status":200,%q:%s}`+"\n", name, text),
				"a document":  fmt.Sprintf("[\n{\"url\":\"http://a.example/\",\n%q:%s}\n]\n", name, text),
				"JSON, typed": fmt.Sprintf(`{"url":"http://a.example/",%q:{"$date":{"$numberLong":%s}}}`+"\n", name, text),
			} {
				n := 0
				for r, err := range records(open(t, "", text), Options{}, nil) {
					if n++; err != nil || !r.Time.Equal(moment) {
						t.Errorf("%s, %q: %q: got %v, %v", format, name, form, r.Time, err)
					}
				}
				if n != 1 {
					t.Errorf("%s, %q, %q: got %d records", format, name, form, n)
				}
			}
		}
	}
	for r, err := range records(open(t, "", `{"url":"http://a.example/","date":"2020-02-02","crawled":"2025-06-01T12:00:00Z","created":"2020-02-02"}`+"\n"), Options{}, nil) {
		if err != nil || !r.Time.Equal(moment) {
			t.Errorf("beside a date of publication: got %v, %v", r.Time, err)
		}
	}
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	for _, zone := range []string{"UTC", "WET", "CEST"} { // of machines: without an offset here, with the name of a form there
		time.Local = time.FixedZone(zone, 7200*strings.Count(zone, "CEST"))
		for _, form := range forms {
			if got := ParseTime(form); !got.Equal(moment) {
				t.Errorf("%q, in %s: got %v", form, zone, got)
			}
		}
		if got := ParseTime("Sun Jun 01 12:00:00 CEST 2025"); !got.IsZero() || !layoutTime(nutchTime, "Sun Jun 01 12:00:00 CEST 2025").IsZero() {
			t.Errorf("in %s: got %v; want no time", zone, got)
		}
	}
	for _, none := range []string{"", "-", "1250", "120ms", "0.003", "01/06/2025", "06/01/2025 12:00:00 PM", "2025-13-01", "2025-06-01 25:00", "Sun Jun 01 12:00:00 CEST 2025", "yesterday", "1748779200 seconds"} {
		if got := ParseTime(none); !got.IsZero() {
			t.Errorf("%q: got %v; want no time", none, got)
		}
	}
	for _, name := range []string{"response_time", "requestTime", "load_time", "last_modified", "published_at", "Expires", "duration", "page_template", "station"} {
		if plainName(name) == anyTime {
			t.Errorf("%q is no time of a fetch", name)
		}
	}
}

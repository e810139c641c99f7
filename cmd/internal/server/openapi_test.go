package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/backup"
	"github.com/firstseen/firstseen/internal/wire"
)

// document is what the test reads of openapi.json.
type document struct {
	Paths      map[string]map[string]any
	Components struct {
		Schemas map[string]struct {
			Properties map[string]any
			Required   []string
		}
	}
}

func readOpenAPI(t *testing.T) (d document) {
	t.Helper()
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestOpenAPIRoutes checks that every route that is served is described, and
// every one that is described is served.
func TestOpenAPIRoutes(t *testing.T) {
	var described, served []string
	for path, methods := range readOpenAPI(t).Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	s := start(t, canon.Qiita(), Config{})
	for _, r := range append(s.described(), s.healthRoutes()...) {
		served = append(served, r.pattern)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described: %q\nserved: %q", described, served)
	}
}

// schemas are the Go types of the schemas.
var schemas = map[string]any{
	"Error": wire.Error{}, "Fault": wire.Fault{}, "URLLine": wire.URLLine{}, "VerdictLine": wire.VerdictLine{},
	"LeaseRequest": wire.LeaseRequest{}, "Leases": wire.Leases{}, "Lease": wire.Lease{}, "Done": wire.Done{}, "DoneLease": wire.DoneLease{},
	"Answers": wire.Answers{}, "Explanation": wire.Explanation{}, "Known": wire.Known{}, "Stats": wire.Stats{},
	"Queues": queuesAnswer{}, "RedirectRequest": wire.RedirectRequest{}, "Redirection": wire.Redirection{}, "QueueSettings": wire.QueueSettings{},
	"Pause": wire.Pause{}, "ForgetRequest": wire.ForgetRequest{}, "Forgotten": wire.Forgotten{},
	"CrawlProfile": crawlBody{}, "Fetched": wire.Fetched{}, "Judgement": judgement{},
	"Trap": wire.Trap{}, "Traps": trapsAnswer{}, "LiftRequest": liftBody{},
	"BackupRequest": backupBody{}, "Backup": backup.Info{}, "Backups": backupsAnswer{},
	"History": struct {
		Samples []sample `json:"samples"`
	}{},
}

// TestOpenAPIFields checks that each field that is read or written is
// described, and each that is described is read or written; and that a field
// an answer may leave out isn't promised.
func TestOpenAPIFields(t *testing.T) {
	got := readOpenAPI(t).Components.Schemas
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(schemas)); !slices.Equal(a, b) {
		t.Errorf("got schemas %q; want %q", a, b)
	}
	for name, v := range schemas {
		fields := jsonFields(reflect.TypeOf(v))
		described := slices.Sorted(maps.Keys(got[name].Properties))
		if want := slices.Sorted(maps.Keys(fields)); !slices.Equal(described, want) {
			t.Errorf("%s: described are %q; the type has %q", name, described, want)
		}
		for _, field := range got[name].Required {
			if optional, ok := fields[field]; !ok || optional {
				t.Errorf("%s: %s is promised, and may be left out", name, field)
			}
		}
	}
}

// TestOpenAPINull checks that each field which a body may leave out may also be null, as the JSON
// decoder has it: it takes null for no value.
func TestOpenAPINull(t *testing.T) {
	got := readOpenAPI(t).Components.Schemas
	for _, name := range []string{"URLLine", "LeaseRequest", "Done", "DoneLease", "RedirectRequest", "QueueSettings", "ForgetRequest", "Fetched", "BackupRequest"} {
		for field, schema := range got[name].Properties {
			if slices.Contains(got[name].Required, field) {
				continue
			}
			v := reflect.New(reflect.TypeOf(schemas[name])).Interface()
			taken := json.Unmarshal([]byte(`{"`+field+`":null}`), v) == nil
			if nullable := schema.(map[string]any)["nullable"] == true; nullable != taken {
				t.Errorf("%s: %s null: taken %v, nullable %v", name, field, taken, nullable)
			}
		}
	}
}

// jsonFields are the names of a struct's fields in JSON, and whether each is
// left out when empty.
func jsonFields(t reflect.Type) map[string]bool {
	fields := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("json")
		if !ok || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		fields[name] = strings.Contains(options, "omit")
	}
	return fields
}

// TestCrawlProfile chooses profiles by HTTP: the key and the wire.Explanation of a
// URL are made by its crawl's.
func TestCrawlProfile(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	choose := func(crawl, profile string) string {
		return s.request(t, "POST", "/v1/crawl", `{"crawl":"`+crawl+`","profile":"`+profile+`"}`)
	}
	offer := func(crawl string) string {
		return s.request(t, "POST", "/v1/urls", `{"url":"http://a.com//b#c","crawl":"`+crawl+`"}`)
	}
	for _, c := range []struct{ what, got, code, want string }{
		{"another", choose("w", "whatwg"), "200", `"whatwg"`},
		{"no profile", choose("w", "nonesuch"), "400", "nonesuch"},
		{"a URL of it", offer("w"), "200", `"http://a.com//b#c"`},
		{"back", choose("w", "qiita"), "409", "permanently"},
		{"back, as a conflict", choose("w", "qiita"), "409", `"code":"conflict"`},
		{"a URL of another crawl", offer("q"), "200", `"http://a.com/b"`},
		{"another, with URLs", choose("q", "surt"), "409", "1 URLs"},
		{"explained by it", s.request(t, "GET", "/v1/explain?url=http://a.com//b%23c&crawl=w", ""), "200", `"whatwg"`},
	} {
		if !strings.HasPrefix(c.got, c.code) || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s; want %s and %s", c.what, c.got, c.code, c.want)
		}
	}
}

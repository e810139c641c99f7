package main

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/hashkey/sxurl"
)

var _ driver.Valuer = hashkey.UrlShortHash{}

const urls = `https://www.example.com/
HTTPS://WWW.example.com:443/#again
https://docs.example.com/a?q=1
https://example.com/
https://example.org/
https://example.co.uk/
https://example.github.io/
http://other.com/
http://10.0.0.1/
`

func TestFindBySlice(t *testing.T) {
	for _, c := range []struct {
		want wanted
		urls string
	}{
		{wanted{sxurl.Domain: "example", sxurl.TLD: "com"}, "https://docs.example.com/a?q=1 https://example.com/ https://www.example.com/"},
		{wanted{sxurl.Domain: "example", sxurl.Subdomain: ""}, "https://example.co.uk/ https://example.com/ https://example.github.io/ https://example.org/"},
		{wanted{sxurl.TLD: "github.io"}, "https://example.github.io/"},
		{wanted{sxurl.Subdomain: "docs"}, "https://docs.example.com/a?q=1"},
		{wanted{sxurl.Domain: "missing"}, ""},
	} {
		var out strings.Builder
		if err := run(t.Context(), strings.NewReader(urls), &out, c.want); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); got != c.urls {
			t.Errorf("%v: got %s; want %s", c.want, got, c.urls)
		}
	}
}

// TestIndexesAreUsed asks SQLite how it finds a slice, and wants no scan of the table.
func TestIndexesAreUsed(t *testing.T) {
	db, err := open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	for _, c := range []sxurl.Component{sxurl.TLD, sxurl.Domain, sxurl.Subdomain} {
		text, args, err := wanted{c: "x"}.query()
		if err != nil {
			t.Fatal(err)
		}
		var id, parent, unused int
		var plan string
		if err := db.db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...).Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("INDEX by_%s", c); !strings.Contains(plan, want) {
			t.Errorf("%s: got plan %q; want %s", c, plan, want)
		}
	}
}

// TestRowsReadBack: key and entry come back from the database as they went in.
func TestRowsReadBack(t *testing.T) {
	db, err := open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if err := db.add(t.Context(), "https://www.example.com/"); err != nil {
		t.Fatal(err)
	}
	var key hashkey.UrlShortHash
	var entry sxurl.Key
	if err := db.db.QueryRowContext(t.Context(), "SELECT key, sxurl FROM urls").Scan(&key, &entry); err != nil {
		t.Fatal(err)
	}
	want, err := sxurl.Codec{}.Encode("https://www.example.com/")
	if key != hashkey.SumShortString("https://www.example.com/") || entry != want || err != nil {
		t.Errorf("got %v, %v; want %v, %v", key, entry, want, err)
	}
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/hashkey/sxurl"
)

// database is a table of URLs with an index for each slice that is asked for.
type database struct{ db *sql.DB }

// slice is the SQL expression for the digits of a component.
func slice(c sxurl.Component) string {
	from, to, err := sxurl.Release02.Slice(c)
	if err != nil {
		panic(err) // the components below all have a slice
	}
	return fmt.Sprintf("substr(sxurl, %d, %d)", from+1, to-from)
}

func open(ctx context.Context, name string) (*database, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("cannot open database: %w", err)
	}
	db.SetMaxOpenConns(1) // each connection to :memory: would be a database of its own
	schema := `CREATE TABLE urls (key BLOB PRIMARY KEY, sxurl TEXT NOT NULL, url TEXT NOT NULL) WITHOUT ROWID;`
	for _, c := range []sxurl.Component{sxurl.TLD, sxurl.Domain, sxurl.Subdomain} {
		schema += fmt.Sprintf("CREATE INDEX by_%s ON urls (%s);", c, slice(c))
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("cannot make table: %w", err)
	}
	return &database{db}, nil
}

func (d *database) close() { d.db.Close() }

// add stores a URL by its key; another spelling of one that is there changes nothing.
func (d *database) add(ctx context.Context, url string) error {
	form, err := canon.Qiita().Canonicalize(url)
	if err != nil {
		return err
	}
	entry, err := sxurl.Codec{}.Encode(form)
	if err != nil {
		return err
	}
	_, err = d.db.ExecContext(ctx, "INSERT OR IGNORE INTO urls VALUES (?, ?, ?)", hashkey.SumShortString(form), entry, form)
	return err
}

// wanted are the components to look for.
type wanted map[sxurl.Component]string

// add makes the function of a flag.
func (w *wanted) add(c sxurl.Component) func(string) error {
	return func(value string) error {
		if *w == nil {
			*w = wanted{}
		}
		(*w)[c] = value
		return nil
	}
}

// query is the SQL that finds the candidates.
func (w wanted) query() (text string, args []any, err error) {
	conditions := []string{"1"}
	for c, value := range w {
		hash, err := sxurl.Release02.Hash(c, value)
		if err != nil {
			return "", nil, err
		}
		from, to, err := sxurl.Release02.Slice(c)
		if err != nil {
			return "", nil, err
		}
		conditions = append(conditions, slice(c)+" = ?")
		args = append(args, fmt.Sprintf("%0*x", to-from, hash))
	}
	return "SELECT url FROM urls WHERE " + strings.Join(conditions, " AND ") + " ORDER BY url", args, nil
}

// find returns the URLs that have all the components of want.
func (d *database) find(ctx context.Context, want wanted) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		text, args, err := want.query()
		if err != nil {
			yield("", err)
			return
		}
		rows, err := d.db.QueryContext(ctx, text, args...)
		if err != nil {
			yield("", fmt.Errorf("cannot query: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var url string
			if err := rows.Scan(&url); err != nil {
				yield("", fmt.Errorf("cannot read row: %w", err))
				return
			}
			if want.has(url) && !yield(url, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield("", fmt.Errorf("cannot read rows: %w", err))
		}
	}
}

// has compares the real parts of a candidate, now that there are few.
func (w wanted) has(url string) bool {
	u, err := sxurl.ParseURL(url)
	if err != nil {
		return false
	}
	for c, value := range w {
		if got, _, err := u.Get(c); err != nil || got != value {
			return false
		}
	}
	return true
}

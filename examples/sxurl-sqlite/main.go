// Command sxurl-sqlite stores URLs with their SXURLs in an SQLite database in memory, and finds
// all URLs of a domain, of a public suffix or of a subdomain, by an index and without parsing a URL.
//
//	sxurl-sqlite [-tld com] [-domain example] [-subdomain docs] < urls.txt
//
// A slice of an SXURL is a short hash, so a row can be wrong: the program checks each URL before it
// prints it. For the same reason the key of the table is the UrlShortHash: two URLs may share an
// SXURL.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/firstseen/firstseen/hashkey/sxurl"
)

func main() {
	log.SetFlags(0)
	var want wanted
	flag.Func("tld", "public suffix of the URLs to print", want.add(sxurl.TLD))
	flag.Func("domain", "domain of the URLs to print, without the suffix", want.add(sxurl.Domain))
	flag.Func("subdomain", "subdomain of the URLs to print; \"\" for none", want.add(sxurl.Subdomain))
	flag.Parse()
	if err := run(context.Background(), os.Stdin, os.Stdout, want); err != nil {
		log.Fatal(err)
	}
}

// run stores the URLs of in and writes those that are wanted.
func run(ctx context.Context, in io.Reader, out io.Writer, want wanted) error {
	db, err := open(ctx, ":memory:")
	if err != nil {
		return err
	}
	defer db.close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := db.add(ctx, lines.Text()); err != nil {
			log.Print(err) // an IP address, say; it has no SXURL
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read URLs: %w", err)
	}
	for url, err := range db.find(ctx, want) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, url)
	}
	return nil
}

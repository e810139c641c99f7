// Command rivals times canon against other canonicalizers and URL parsers over one list
// of URLs, in one run, and prints ratios: `make bench-canon`. It is a module of its own,
// so that no rival becomes a dependency of firstseen.
//
// Go's rivals run in this process, before and after the others. Those of other languages
// are built from the sources beside this file when their tools are there, and left out
// with a word of why when not. Every figure is CPU time on one thread, the median of the
// rounds; what varies between runs and machines cancels out in the ratios only.
//
// Only rows named "sort, no fragment" are comparable with ours, although none of them normalises
// escapes, collapses slashes or keeps the text of parameters. A bare parse is the lower bound.
package main

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	log.SetFlags(0)
	shared := os.Getenv("FIRSTSEEN_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "..", "..", "shared")
	}
	corpus := flag.String("corpus", filepath.Join(shared, "logs", "urls", "top100.txt.gz"), "list of URLs, one a line, plain or .gz; canon/testdata/sample.txt if absent")
	rounds := flag.Int("rounds", 7, "how often each goes over the list")
	hostile := flag.Bool("hostile", true, "also time hostile input from 1 kB to 1 MB")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	urls, err := read(*corpus)
	if os.IsNotExist(err) {
		log.Printf("no %s here; taking the repository's own sample", *corpus)
		*corpus = filepath.Join("..", "..", "..", "..", "..", "canon", "testdata", "sample.txt")
		urls, err = read(*corpus)
	}
	if err != nil {
		log.Fatal(err)
	}
	results := timeGo(urls, *rounds)
	results = append(results, timeOthers(urls, *rounds)...)
	results = append(results, timeGo(urls, *rounds)...)
	show(os.Stdout, *corpus, len(urls), merge(results))
	if *hostile {
		if err := showHostile(os.Stdout); err != nil {
			log.Fatal(err)
		}
	}
}

func read(name string) (urls []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("cannot read corpus %s: %w", name, err)
		}
	}
	s := bufio.NewScanner(r)
	for s.Scan() {
		if s.Text() != "" {
			urls = append(urls, s.Text())
		}
	}
	return urls, s.Err()
}

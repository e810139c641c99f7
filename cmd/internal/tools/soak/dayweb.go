//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// dayWeb is a web without end. Its pages have numbers: those below known are known at the beginning, those after them
// queued. A page has 38 links: 4 to pages that nothing else links to, and 34 to pages of the beginning, so that nine of
// ten offers are of known URLs, as in a crawl of the open web. Hosts have sizes with a heavy tail: the largest of a
// million has a hundredth of all pages.
type dayWeb struct{ known, queued, hosts int }

const dayLinks, dayNew = 38, 4

// mix spreads a number over all 64 bits.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func (w dayWeb) host(page int) int {
	u := float64(mix(uint64(page))>>11) / (1 << 53)
	return int(u * u * u * float64(w.hosts))
}

func (w dayWeb) url(page int) string {
	return fmt.Sprintf("https://h%d.example/articles/%d?section=%d", w.host(page), page, page%9)
}

// variant writes a page's URL as some sites do: one in ten with a fragment, or its host in capitals.
func (w dayWeb) variant(r *rand.Rand, page int) string {
	url := w.url(page)
	switch r.IntN(20) {
	case 0:
		return url + "#top"
	case 1:
		return strings.Replace(url, "https://h", "HTTPS://H", 1)
	}
	return url
}

// links appends the pages that a page links to.
func (w dayWeb) links(r *rand.Rand, page int, all []int) []int {
	for i := range dayNew {
		all = append(all, w.known+w.queued+dayNew*(page-w.known)+i)
	}
	for range dayLinks - dayNew {
		all = append(all, r.IntN(w.known+w.queued))
	}
	return all
}

// dayPage is the page of a URL, -1 for none.
func dayPage(url string) int {
	_, rest, _ := strings.Cut(url, "/articles/")
	digits, _, _ := strings.Cut(rest, "?")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// writeURLs writes a list of pages from one to another.
func (w dayWeb) writeURLs(out io.Writer, from, to int) error {
	b := bufio.NewWriterSize(out, 1<<16)
	for page := from; page < to; page++ {
		_, _ = b.WriteString(w.url(page) + "\n") // Flush has its error
	}
	return b.Flush()
}

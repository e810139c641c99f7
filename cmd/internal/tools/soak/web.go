//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
)

// The made-up web: hosts with pages, each page with spellings that are one to canonicalization.
const (
	hosts        = 300
	pagesPerHost = 400
	pages        = hosts * pagesPerHost
)

// spelling writes a page in one of its ways.
func spelling(r *rand.Rand, page int) string {
	host, path := hostOf(page), fmt.Sprintf("/d/%d?a=%d&b=2", page, page%7)
	switch r.IntN(6) {
	case 0:
		return "HTTP://" + strings.ToUpper(host) + ":80" + path
	case 1:
		return "http://" + host + "/x/.." + path + "#top"
	case 2:
		return "http://" + host + fmt.Sprintf("//d/%d?b=2&a=%d", page, page%7)
	case 3:
		return "http://" + host + fmt.Sprintf("/%%64/%d?a=%d&&b=2", page, page%7)
	}
	return "http://" + host + path
}

func hostOf(page int) string { return fmt.Sprintf("h%d.example", page%hosts) }

// pageOf is the page that a spelling is of; -1 for none.
func pageOf(text string) int {
	u, err := url.Parse(text)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(u.Path[strings.LastIndexByte(u.Path, '/')+1:])
	if err != nil {
		return -1
	}
	return n
}

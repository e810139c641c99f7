package canon_test

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
)

// One URL under every profile.
func ExampleParseProfile() {
	const url = "HTTP://www.Example.com:80/a/../index.html?b=2&a=%7e#top"
	for _, name := range []string{
		"qiita", "whatwg", "hashed-n", "hashed-p", "c14n", "purell:safe,remove-dot-segments", "scrapy", "safebrowsing", "surt", "none",
	} {
		p, err := canon.ParseProfile(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		form, err := p.Canonicalize(url)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-12s %s\n", p.Name(), form)
	}
	// Output:
	// qiita        http://www.example.com/index.html?a=~&b=2
	// whatwg       http://www.example.com/index.html?b=2&a=%7e#top
	// hashed-n     http://www.example.com/a/../
	// hashed-p     http://www.example.com/a/../
	// c14n         http://www.example.com/index.html?a=~&b=2#top
	// purell       http://www.example.com/index.html?b=2&a=%7e#top
	// scrapy       http://www.example.com:80/index.html?a=~&b=2
	// safebrowsing http://www.example.com/index.html?b=2&a=~
	// surt         com,example)/index.html?a=~&b=2
	// none         HTTP://www.Example.com:80/a/../index.html?b=2&a=%7e#top
}

// A crawler that used purell keeps its keys.
func ExamplePurell() {
	p, err := canon.Purell("FlagsUsuallySafeGreedy,FlagRemoveFragment")
	if err != nil {
		fmt.Println(err)
		return
	}
	form, err := p.Canonicalize("HTTP://Example.com:80/a/b/#top")
	fmt.Println(form, err)
	fmt.Println(p)
	// Output:
	// http://example.com/a/b <nil>
	// purell:usually-safe-greedy,remove-fragment
}

// What an old crawl kept apart and an archive looks up as one.
func ExampleSURT() {
	for _, url := range []string{
		"http://www.example.com/A/?sid=0123456789abcdef0123456789abcdef",
		"https://example.com/a",
	} {
		key, err := canon.SURT().Canonicalize(url)
		fmt.Println(key, err)
	}
	// Output:
	// com,example)/a <nil>
	// com,example)/a <nil>
}

// Refusals have a short code for reports.
func ExampleCode() {
	for _, url := range []string{"http://example.com/", "mailto:a@example.com", "http://exa mple.com/"} {
		_, err := canon.Qiita().Canonicalize(url)
		fmt.Printf("%q\n", canon.Code(err))
	}
	// Output:
	// ""
	// "scheme"
	// "url"
}

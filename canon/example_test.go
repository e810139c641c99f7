package canon_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/firstseen/firstseen/canon"
)

func Example() {
	p := canon.Qiita()
	for _, raw := range []string{
		"HTTP://www.Example.com:80/%7Ealice/./a//b?y=2&x=1#top",
		"http://www.example.com/~alice/a/b?x=1&y=2",
	} {
		canonical, err := p.Canonicalize(raw)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(canonical)
	}
	// Output:
	// http://www.example.com/~alice/a/b?x=1&y=2
	// http://www.example.com/~alice/a/b?x=1&y=2
}

// The hot path: one buffer for all URLs, and no allocation for nearly all of them.
func ExampleProfile_AppendCanonical() {
	p := canon.Qiita()
	var buf []byte
	for _, raw := range []string{"http://h/b/../a", "mailto:alice@example.com"} {
		var err error
		if buf, err = p.AppendCanonical(buf[:0], []byte(raw)); err != nil {
			fmt.Println("refused:", canon.Code(err))
			continue
		}
		fmt.Printf("%s\n", buf)
	}
	// Output:
	// http://h/a
	// refused: scheme
}

func ExampleProfile_With() {
	p, err := canon.Qiita().With(canon.Enable(canon.StripWWW, canon.StripTrackingParams), canon.Disable(canon.CollapseSlashes))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p)
	fmt.Println(p.Canonicalize("http://www.example.com//a?utm_source=x&id=7"))
	// Output:
	// qiita:+strip-www,-collapse-slashes,+strip-tracking-params,lists=2
	// http://example.com//a?id=7 <nil>
}

func ExampleWithRuleFile() {
	file := strings.NewReader(`{"params": [
		{"host": "wiki.example.org", "path": "/w/", "drop": ["oldid"]}
	]}`)
	p, err := canon.Qiita().With(canon.WithRuleFile(file))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Canonicalize("http://wiki.example.org/w/page?oldid=3&id=1"))
	// Output: http://wiki.example.org/w/page?id=1 <nil>
}

func ExampleProfile_Explain() {
	e, err := canon.Qiita().Explain("http://EXAMPLE.com/a/../b#c")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range e.Steps {
		fmt.Printf("%-15s %s\n", s.Rule, s.After)
	}
	// Output:
	// drop-fragment   http://EXAMPLE.com/a/../b
	// lowercase-host  http://example.com/a/../b
	// dot-segments    http://example.com/b
}

func ExampleProfile_Compare() {
	c, err := canon.Qiita().Compare("http://www.example.com/a/", "http://example.com/a/#top")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("same:", c.Same, "would be with:", c.Missing)
	// Output: same: false would be with: [strip-www]
}

func ExampleHost() {
	canonical := []byte("https://user@xn--wgv71a119e.jp:8080/")
	fmt.Printf("%s %t\n", canon.Host(canonical), canon.Qiita().HasUnicodeHost(canonical))
	// Output: xn--wgv71a119e.jp:8080 true
}

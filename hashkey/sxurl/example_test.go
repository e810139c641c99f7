package sxurl_test

import (
	"fmt"

	"github.com/firstseen/firstseen/hashkey/sxurl"
)

func ExampleCodec_Encode() {
	k, err := sxurl.Codec{}.Encode("https://docs.example.co.uk/guide?page=2")
	fmt.Println(k, err)
	// Output: 118fe919cee73c091a1a7b8a92738001bb69d1e0b52c65b051476fffd2000000 <nil>
}

// A key shows scheme and port, and whether it has parts; the rest can only be compared.
func ExampleCodec_Decode() {
	c := sxurl.Codec{}
	k, err := c.Encode("http://www.example.com:8080/")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := c.Decode(k)
	fmt.Println(f.Scheme, f.Port, f.HasSubdomain, f.HasQuery, err)
	// Output: http 8080 true false <nil>
}

// A probe is hashed once, and then compared with any number of keys.
func ExampleCodec_Probe() {
	c := sxurl.Codec{}
	probe, err := c.Probe(sxurl.Domain, "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range []string{"https://www.example.com/", "https://example.org/a", "https://other.com/"} {
		k, err := c.Encode(u)
		if err != nil {
			fmt.Println(err)
			return
		}
		ok, err := probe.Match(k)
		fmt.Println(u, ok, err)
	}
	// Output:
	// https://www.example.com/ true <nil>
	// https://example.org/a true <nil>
	// https://other.com/ false <nil>
}

// A query in SQL needs the place of the slice and its value.
func ExampleLayout_Slice() {
	from, to, _ := sxurl.Release02.Slice(sxurl.Domain)
	domain, _ := sxurl.Release02.Hash(sxurl.Domain, "example")
	fmt.Printf("substr(sxurl, %d, %d) = '%0*x'\n", from+1, to-from, to-from, domain)
	// Output: substr(sxurl, 8, 15) = '9cee73c091a1a7b'
}

func ExampleURL_Get() {
	u, err := sxurl.ParseURL("https://api.github.com/repos?page=1#readme")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range []sxurl.Component{sxurl.Subdomain, sxurl.Domain, sxurl.TLD, sxurl.Fragment} {
		value, _, err := u.Get(c)
		fmt.Println(c, value, err)
	}
	// Output:
	// subdomain api <nil>
	// domain github <nil>
	// tld com <nil>
	// fragment readme <nil>
}

func ExampleURL_Join() {
	u, err := sxurl.ParseURL("https://api.example.com/v1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Join("users"))
	// Output: https://api.example.com/v1/users <nil>
}

package hasheduri_test

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

func ExampleHasher_Sum() {
	h := hasheduri.Hasher{Variant: hasheduri.N, KeepFragment: true}
	u, err := h.Sum("http://www.thus.net#end")
	fmt.Println(u, err)
	// Output: hashed:sha1=31a79a96e0404778a3b95cb426b04b6114a604a5+frag <nil>
}

func ExampleHasher_Match() {
	u, err := hasheduri.Parse("hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := hasheduri.Hasher{Variant: hasheduri.N}
	for _, candidate := range []string{"HTTP://www.Thus.net:80", "http://www.thus.net/other"} {
		ok, err := h.Match(u, candidate)
		fmt.Println(candidate, ok, err)
	}
	// Output:
	// HTTP://www.Thus.net:80 true <nil>
	// http://www.thus.net/other false <nil>
}

// A list that excludes URLs without revealing them.
func ExampleReadList() {
	list, err := hasheduri.ReadList(strings.NewReader(`# by variant N
hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481
hashed:md5=cd933f3b87ee60e58917448c9678ee32
`), hasheduri.Hasher{Variant: hasheduri.N})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list.Len())
	fmt.Println(list.Match("http://www.thus.net?any=query"))
	fmt.Println(list.Match("http://www.thus.net/page"))
	// Output:
	// 2
	// hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481 true
	// hashed:= false
}

package captures_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/firstseen/firstseen/store/captures"
)

func Example() {
	dir, err := os.MkdirTemp("", "captures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := captures.Open(dir, captures.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	err = s.Add(captures.Capture{URL: "http://example.com/?b=2&a=1", Time: time.Unix(1_795_000_000, 0), Status: 200, Digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"})
	if err != nil {
		log.Fatal(err)
	}
	for c, err := range s.All() {
		fmt.Println(c.URL, c.Status, c.Digest, err)
	}
	// Output: http://example.com/?b=2&a=1 200 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ <nil>
}

package frontierpb_test

import (
	"fmt"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// A page that was fetched and is to be fetched again.
func Example() {
	item := &frontierpb.URLItem{
		ID: "42",
		Item: &frontierpb.URLItem_Known{Known: &frontierpb.KnownURLItem{
			Info:                &frontierpb.URLInfo{Url: "https://example.org/", CrawlID: "news"},
			RefetchableFromDate: 1800000000,
		}},
	}
	fmt.Println(item.GetKnown().GetInfo().GetUrl())
	_, err := prototext.Marshal(item)
	fmt.Println(err)
	// Output:
	// https://example.org/
	// <nil>
}

package logs

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads a record of each of the formats that large logs have.
func BenchmarkRead(b *testing.B) {
	for _, format := range []struct{ name, header, line string }{
		{"access", "", `192.0.2.7 - - [24/Nov/2026:10:00:00 +0000] "GET /a/%d/page.html?x=1 HTTP/1.1" 200 1234 "https://ref.example/1" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`},
		{"json", "", `{"url":"https://www.example.com/a/%d/page.html","status":200,"title":"A page","timestamp":"2026-11-24T10:00:00Z","mime":"text/html","length":1234}`},
		{"csv", "id,url,status,title,date\n", `1,https://www.example.com/a/%d/page.html,200,A page,2026-11-24T10:00:00Z`},
		{"quoted", `"id","url","status","title","date"` + "\n", `"1","https://www.example.com/a/%d/page.html","200","A page","2026-11-24T10:00:00Z"`},
		{"cdxj", "", `com,example)/a 20261124100000 {"url": "https://www.example.com/a/%d/page.html", "mime": "text/html", "status": "200", "digest": "AAAA", "length": "500", "offset": "5", "filename": "x.warc.gz"}`},
		{"cdx", " CDX N b a m s k r M S V g\n", `com,example)/a 20261124100000 https://www.example.com/a/%d/page.html text/html 200 AAAA - - 500 5 x.warc.gz`},
		{"heritrix", "", `2026-11-24T10:00:00.000Z   200       1234 https://www.example.com/a/%d/page.html L https://www.example.com/ text/html #001 20261124100000000+10 sha1:AAAA - -`},
		{"w3c", "#Fields: date time cs-method cs-host cs-uri-stem cs-uri-query sc-status cs(Referer)\n", `2026-11-24 10:00:00 GET www.example.com /a/%d/page.html x=1 200 -`},
	} {
		b.Run(format.name, func(b *testing.B) {
			var text strings.Builder
			text.WriteString(format.header)
			for i := range b.N {
				fmt.Fprintf(&text, format.line+"\n", i)
			}
			in, err := Open(b.Context(), "-", strings.NewReader(text.String()))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for batch, err := range Read(in, Options{}) {
				if err != nil {
					b.Fatal(err)
				}
				n += len(batch.Records)
				batch.Release()
			}
			if n != b.N {
				b.Fatalf("got %d records; want %d", n, b.N)
			}
		})
	}
}

package crawllog

import (
	"bytes"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
)

// Format is the form of a log.
type Format string

// The formats.
const (
	List      Format = "list"       // one URL a line
	Table     Format = "table"      // tabs or commas, a URL in one column
	CDX       Format = "cdx"        // archive index, all header variants
	CDXJ      Format = "cdxj"       // archive index with JSON, Common Crawl's too
	WARC      Format = "warc"       // archive
	ARC       Format = "arc"        // its predecessor
	WACZ      Format = "wacz"       // zip of WARC files
	Heritrix  Format = "heritrix"   // crawl.log, 1.x and 3.x
	Access    Format = "access"     // Apache and nginx, common, combined and vhost
	JSON      Format = "json"       // objects: feeds, frontier dumps, index servers, nginx
	NutchCSV  Format = "nutch-csv"  // readdb -dump -format csv
	NutchText Format = "nutch-text" // readdb -dump -format normal
	Scrapy    Format = "scrapy"     // log
	Wget      Format = "wget"       // log, verbose and -nv
	W3C       Format = "w3c"        // extended log format: IIS, CloudFront
	S3        Format = "s3"         // server access log of S3
	ELB       Format = "elb"        // Classic and Application Load Balancers
	Sitemap   Format = "sitemap"    // sitemaps and indexes of them, in XML
	Parquet   Format = "parquet"    // Common Crawl's columnar index, or a column of URLs
	Binary    Format = "binary"     // detected, not read
	Unknown   Format = "unknown"    // detected, not read: markup, or lines of columns that no format has
)

// Formats lists the formats that can be read.
func Formats() []Format {
	return []Format{List, Table, CDX, CDXJ, WARC, ARC, WACZ, Heritrix, Access, JSON, NutchCSV, NutchText, Scrapy, Wget, W3C, S3, ELB, Sitemap, Parquet}
}

// headSize is how many bytes of a log are used to detect its format.
const headSize = 64 << 10

// DetectFile returns the format of an opened log, by its first bytes.
func DetectFile(f *input.File) Format { return Detect(f.Peek(headSize)) }

// Detect returns the format of a log whose decompressed text begins with head. A log of no known
// format is a list, unless it is markup or most of its lines have columns.
func Detect(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return WACZ
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case bytes.HasPrefix(head, []byte("WARC/")):
		return WARC
	case isARC(head):
		return ARC
	case bytes.IndexByte(head[:min(len(head), 8<<10)], 0) >= 0:
		return Binary
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch line, _, _ := bytes.Cut(head, []byte("\n")); {
	case isCDXHeader(string(line)):
		return CDX
	case bytes.HasPrefix(line, []byte(nutchHeader)):
		return NutchCSV
	case isW3C(head):
		return W3C
	case isSitemap(head):
		return Sitemap
	case isMarkup(line):
		return Unknown
	}
	return vote(head)
}

// votes is how many lines are asked; one odd line at the head decides nothing.
const votes = 40

// vote takes the format that most of the first lines look like.
func vote(head []byte) Format {
	count := map[Format]int{}
	asked, full, wide := 0, 0, 0
	whole := head
	if i := bytes.LastIndexByte(head, '\n'); i > 0 {
		whole = head[:i]
	}
	input.Lines(whole, '\n', func(line []byte) bool {
		if line = bytes.TrimSpace(line); len(line) > 0 && full < votes {
			if full++; bytes.Count(line, []byte(" ")) >= 2 {
				wide++
			}
		}
		if f := detectLine(string(line)); f != "" {
			count[f]++
			asked++
		}
		return asked < votes
	})
	best := List
	for _, f := range Formats() {
		if count[f] > count[best] {
			best = f
		}
	}
	if best == List && 2*wide > full {
		return Unknown
	}
	return best
}

// detectLine returns the format that a line looks like, or "" if it could be of any format.
func detectLine(line string) Format {
	switch {
	case strings.TrimSpace(line) == "":
		return ""
	case strings.HasPrefix(line, "!") && strings.ContainsAny(line, "[{"):
		return CDXJ
	case line[0] == '{' || line[0] == '[':
		return JSON
	case strings.Contains(line, nutchVersion):
		return NutchText
	}
	return detectFields(line)
}

// detectFields asks the parsers of one-line formats.
func detectFields(line string) Format {
	for _, try := range []struct {
		format Format
		parse  func(string, func(Record)) error
	}{
		{CDXJ, parseCDXJ}, {Heritrix, parseHeritrix}, {Access, accessParser("").parse}, {S3, parseS3}, {ELB, parseELB},
		{CDX, detectCDX}, {Wget, detectWget}, {Scrapy, detectScrapy},
		{Table, (&tableParser{}).line}, {List, detectList},
	} {
		found := false
		if try.parse(line, func(Record) { found = true }) == nil && found {
			return try.format
		}
	}
	return ""
}

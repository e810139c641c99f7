package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// Format is the form of a log.
type Format string

// The formats.
const (
	List      Format = "list"       // one URL a line
	Table     Format = "table"      // CSV and the like, a URL in one column; Zeek's logs
	CDX       Format = "cdx"        // archive index, all header variants
	CDXJ      Format = "cdxj"       // archive index with JSON, Common Crawl's too
	WARC      Format = "warc"       // archive
	ARC       Format = "arc"        // its predecessor
	WACZ      Format = "wacz"       // zip of WARC files
	Heritrix  Format = "heritrix"   // crawl.log, 1.x and 3.x
	Access    Format = "access"     // Apache and nginx, common, combined and vhost
	JSON      Format = "json"       // objects: feeds, frontier dumps, index servers, nginx, HAR
	NutchCSV  Format = "nutch-csv"  // readdb -dump -format csv
	NutchText Format = "nutch-text" // readdb -dump -format normal
	Scrapy    Format = "scrapy"     // log
	Wget      Format = "wget"       // log, verbose and -nv
	W3C       Format = "w3c"        // extended log format: IIS, CloudFront
	S3        Format = "s3"         // server access log of S3
	ELB       Format = "elb"        // Classic and Application Load Balancers
	Sitemap   Format = "sitemap"    // sitemaps and indexes of them, feeds, OPML, bookmarks
	Burp      Format = "burp"       // items of Burp Suite, in XML
	Parquet   Format = "parquet"    // Common Crawl's columnar index, or a column of URLs
)

// Formats lists the formats.
func Formats() []Format {
	return []Format{List, Table, CDX, CDXJ, WARC, ARC, WACZ, Heritrix, Access, JSON, NutchCSV, NutchText, Scrapy, Wget, W3C, S3, ELB, Sitemap, Burp, Parquet}
}

// What a trial reads: at most so many bytes and lines that are not blank.
const (
	headSize    = 64 << 10
	trialLines  = 40
	binaryBytes = 8 << 10 // a NUL further on costs only its line
)

// A reading is how a file is read.
type reading struct {
	format   Format
	parser   parser // of lines; nil for a plain list, a table, and formats that are not read by lines
	table    *tableParser
	document bool // JSON values over several lines
	end      byte // of lines
	sure     bool // further lines could not change it
}

// detect finds out how to read a file.
func detect(f *File, opt *Options) (*reading, error) {
	judge := func(head []byte, whole bool) (*reading, error) {
		d := &detector{opt: opt, name: f.Name, head: head, whole: whole, end: '\n'}
		return d.judge()
	}
	head, whole := f.head(headSize, func(head []byte) bool {
		how, err := judge(head[:bytes.LastIndexByte(head, '\n')+1], true)
		return err == nil && (how.sure || opt.Format != "")
	})
	return judge(head, whole)
}

// Detect returns the format of a file, or why Read can't read it.
func Detect(f *File, opt Options) (Format, error) {
	opt.Base = cmp.Or(opt.Base, DefaultBase)
	how, err := detect(f, &opt)
	if err != nil {
		return "", err
	}
	return how.format, nil
}

// detector judges the beginning of one file.
type detector struct {
	opt   *Options
	name  string
	head  []byte
	whole bool // the file ends with head
	end   byte
	lines []string // of head, those that are not blank, without colours

	coloured bool // lines had colours
}

// unreadable makes the error of a file.
func (d *detector) unreadable(format string, args ...any) error {
	return fault.As(ErrFormat, "cannot read %s; "+format, append([]any{d.name}, args...)...)
}

func (d *detector) judge() (*reading, error) {
	head := bytes.TrimLeft(d.head, "\ufeff\r\n")
	format := d.opt.Format
	switch {
	case format != "":
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		format = WACZ
	case bytes.HasPrefix(head, []byte("PAR1")):
		format = Parquet
	case bytes.HasPrefix(head, []byte("WARC/")):
		format = WARC
	case isARC(head):
		format = ARC
	}
	switch format {
	case WARC, ARC, WACZ, Parquet, Sitemap, Burp:
		return &reading{format: format, sure: true}, nil
	}
	if d.opt.Zero && bytes.IndexByte(head, 0) >= 0 {
		return &reading{format: List, sure: true}, nil
	} else if name := binaryName(head); name != "" {
		return nil, d.unreadable("got %s; want text or an archive", name)
	}
	d.sample()
	switch {
	case format == JSON:
		p, objects, _, document := d.json()
		return &reading{format: JSON, parser: p, document: document && (objects == 0 || d.spans()), end: d.end}, nil
	case format == Table:
		t, err := learnTable(d.lines, d.opt)
		if err == nil && t == nil {
			err = errors.New("got no column with URLs")
		}
		if err != nil {
			return nil, d.unreadable("%v", err)
		}
		return d.table(t)
	case format == List && d.opt.Scheme == "":
		return d.named(), nil
	case format == List:
		return &reading{format: List, parser: &listParser{scheme: d.opt.Scheme}, end: d.end}, nil
	case format == "":
		return d.vote()
	}
	for _, known := range lineFormats {
		if known.format != format {
			continue
		}
		if inner := d.unwrapped(); inner != nil {
			return &reading{format: format, parser: wrapped{known.parser(d.opt, inner.lines), format}, end: d.end}, nil
		}
		return &reading{format: format, parser: known.parser(d.opt, d.lines), end: d.end}, nil
	}
	return nil, fault.As(ErrFormat, "cannot read log; got unknown format %q", format)
}

// sample cuts the head into lines. Line ends are LF, CR LF, or, where there is no LF, CR.
func (d *detector) sample() {
	text := bytes.TrimPrefix(d.head, []byte(byteOrderMark))
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0 {
		d.end = '\r'
	}
	if i := bytes.LastIndexByte(text, d.end); i >= 0 && !d.whole {
		text = text[:i+1]
	}
	splitLines(string(text), d.end, func(line string) bool {
		bare := colours.ReplaceAllString(strings.TrimPrefix(line, byteOrderMark), "")
		if strings.TrimSpace(bare) != "" {
			d.coloured = d.coloured || strings.IndexByte(line, 0x1b) >= 0
			d.lines = append(d.lines, bare)
		}
		return len(d.lines) < trialLines
	})
}

// vote tries the formats, the most particular first.
func (d *detector) vote() (*reading, error) {
	if len(d.lines) == 0 {
		return &reading{format: List, end: d.end}, nil
	}
	if begin := strings.TrimLeft(string(d.head[:min(len(d.head), 1<<10)]), "\ufeff \t\r\n"); strings.HasPrefix(begin, "<") {
		if format, what := d.markup(); format != "" {
			return &reading{format: format, sure: true}, nil
		} else if what != "" {
			hint := ""
			if what == anHTMLPage {
				hint = "; for its links: lynx -dump -listonly -nonumbers FILE | firstseen …"
			}
			return nil, d.unreadable("got %s; want a sitemap, a list or a log%s", what, hint)
		}
	}
	inner := d.unwrapped()
	if inner != nil {
		best, err := inner.lineFormat()
		if best == nil && err == nil {
			best = inner.objects()
		}
		if best != nil && err == nil && !best.document {
			best.parser = wrapped{best.parser, best.format}
			return best, nil
		}
	}
	if best, err := d.lineFormat(); best != nil || err != nil {
		return best, err
	}
	if how := d.objects(); how != nil {
		return cmp.Or(inner.carriedList(), how), nil
	}
	t, err := learnTable(d.lines, d.opt)
	if err != nil {
		return nil, d.unreadable("%v", err)
	}
	if t != nil {
		return d.table(t)
	}
	if d.opt.URLField != "" && slices.ContainsFunc(d.lines, func(line string) bool { return strings.ContainsAny(line, ",;|\t") }) {
		return nil, d.unreadable("got no column or field %q; its first line is %.200q (if it is a list: %s list)", d.opt.URLField, d.lines[0], d.opt.Flag)
	}
	if how := inner.carriedList(); how != nil {
		return how, nil
	}
	return d.list()
}

// table reads a table, if it has the columns that it must.
func (d *detector) table(t *tableParser) (*reading, error) {
	for _, name := range d.opt.Must {
		if t.has(name) {
			continue
		}
		if t.names == nil {
			return nil, d.unreadable("got no column %q; its %d columns have no names: give a number", name, t.width)
		}
		return nil, d.unreadable("got no column %q; its columns are %q", name, t.columns())
	}
	return &reading{format: Table, table: t, end: d.end}, nil
}

// lineFormat finds the format of lines that explains most of them: nil if there is none, an error if two explain as many, as
// other URLs.
func (d *detector) lineFormat() (best *reading, err error) {
	var of *Batch
	for _, f := range lineFormats {
		b := d.try(f.format, f.parser(d.opt, d.lines))
		sameURL := func(a, b Record) bool { return a.URL == b.URL }
		switch {
		case b == nil || best != nil && b.Counts.Refused > of.Counts.Refused:
		case best == nil || b.Counts.Refused < of.Counts.Refused:
			best, of, err = &reading{format: f.format, parser: f.parser(d.opt, d.lines), end: d.end, sure: b.Counts.Refused == 0 && b.Counts.Read > 0}, b, nil
		case !slices.EqualFunc(b.Records, of.Records, sameURL):
			err = d.unreadable("its lines can be read as %s and as %s: choose with %s", best.format, f.format, d.opt.Flag)
		}
	}
	return best, err
}

// try parses the sample with one format. It returns the result if most lines fit.
func (d *detector) try(format Format, p parser) *Batch {
	s := &sink{format: format, yield: func(*Batch, error) bool { return true }}
	s.begin()
	for _, line := range d.lines {
		s.number++
		s.unit(p.line(line, s.emit), line)
	}
	p.end(s.emit)
	c, good := &s.b.Counts, 0
	for _, r := range s.b.Records {
		if r.Kind == Other || plausible(strings.ReplaceAll(r.URL, " ", "+")) {
			good++
		}
	}
	some := c.Read+c.Headers > 0 || format == Scrapy && c.Other > 0
	if !some || 2*c.Refused > c.Units || 2*good < len(s.b.Records) || format == W3C && c.Headers == 0 {
		return nil
	}
	return s.b
}

// objects returns the reading of JSON, and of lines with names, if most lines are.
func (d *detector) objects() *reading {
	p, objects, read, document := d.json()
	one := d.whole && len(d.lines) == 1 && read > 1 // a document in a line, unless others follow
	if 2*objects > len(d.lines) || document {
		return &reading{format: JSON, parser: p, document: one || document && (2*objects <= len(d.lines) || d.spans()), end: d.end, sure: !one}
	}
	return nil
}

// spans reports whether the first value goes on behind its line and is an object, or an array whose elements are objects: then lines
// with one element each have others around them. Rows of arrays are read by lines.
func (d *detector) spans() bool {
	first := strings.TrimSpace(d.lines[0])
	object := first[0] == '{' || strings.HasPrefix(strings.TrimLeft(first[1:], " "), "{")
	return object && !json.Valid([]byte(strings.TrimSuffix(first, ",")))
}

// json reports how many lines are a JSON value each that a log can have, how many URLs they have, and whether the file begins as
// a document of several lines does.
func (d *detector) json() (p *jsonParser, objects, read int, indented bool) {
	named, trial := 0, newJSONParser(*d.opt)
	p, trial.cells = newJSONParser(*d.opt), map[string][]string{}
	p.done = trial.done
	for _, line := range d.lines {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		names := keyed(line) != nil
		if line == "" || line[0] != '{' && line[0] != '[' && !names {
			continue
		}
		err := trial.line(line, func(r Record) {
			read++
			p.statuses = p.statuses || r.Status != 0
		})
		switch {
		case names:
			named++
		case line[0] == '{' && json.Valid([]byte(line)) || len(line) > 1 && (err == nil || err == isHeader):
			objects++
		}
	}
	if read > 0 {
		objects += named
	}
	text := bytes.TrimPrefix(d.head, []byte(byteOrderMark))
	in := json.NewDecoder(bytes.NewReader(text))
	for tokens := 0; ; tokens++ {
		t, err := in.Token()
		if delim, ok := t.(json.Delim); tokens == 0 && (!ok || delim != '{' && delim != '[') {
			break
		}
		if err != nil {
			indented = tokens > 2 && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF))
			break
		}
	}
	if indented && objects == 0 { // its entries are over several lines
		s := &sink{format: JSON, yield: func(*Batch, error) bool { return true }}
		s.begin()
		entries := &document{s: s, in: &tokenReader{}, dec: json.NewDecoder(bytes.NewReader(text)), p: trial}
		for entries.value(0) == nil {
			s.number++
		}
	}
	p.answer = trial.findAnswer()
	return p, objects, read, indented
}

const anHTMLPage = "an HTML page"

// markup returns the format of an XML file, or what else it is.
func (d *detector) markup() (format Format, what string) {
	in := xml.NewDecoder(bytes.NewReader(d.head))
	in.CharsetReader, in.Strict = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }, false
	for {
		t, err := in.RawToken()
		if err != nil {
			return "", ""
		}
		switch t := t.(type) {
		case xml.Directive:
			if isBookmarks(t) {
				return Sitemap, ""
			} else if strings.Contains(strings.ToLower(string(t)), "doctype html") {
				return "", anHTMLPage
			}
		case xml.StartElement:
			switch name := strings.ToLower(t.Name.Local); name {
			case "urlset", "sitemapindex", "rss", "feed", "rdf", "opml":
				return Sitemap, ""
			case "items":
				return Burp, ""
			case "html", "head", "body":
				return "", anHTMLPage
			default:
				return "", "XML with the root element " + t.Name.Local
			}
		}
	}
}

// lineFormats are the formats of lines, the most particular first, and how their parsers are made, which may learn from the first lines.
var lineFormats = []struct {
	format Format
	parser func(opt *Options, lines []string) parser
}{
	{CDXJ, each(parseCDXJ)},
	{Heritrix, each(parseHeritrix)},
	{S3, each(parseS3)},
	{ELB, each(parseELB)},
	{Access, func(opt *Options, lines []string) parser { return newAccessParser(opt, lines) }},
	{CDX, func(*Options, []string) parser { return &cdxParser{} }},
	{Wget, func(*Options, []string) parser { return &wgetParser{} }},
	{Scrapy, func(*Options, []string) parser { return &scrapyParser{} }},
	{NutchText, func(*Options, []string) parser { return &nutchParser{} }},
	{NutchCSV, each(parseNutchCSV)},
	{W3C, func(opt *Options, _ []string) parser { return &w3cParser{opt: opt} }},
}

// each makes the parser of lines that are a record each.
func each(line stateless) func(*Options, []string) parser {
	return func(*Options, []string) parser { return line }
}

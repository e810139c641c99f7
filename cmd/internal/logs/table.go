package logs

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A tableParser reads rows of cells, one of which is a URL: CSV (RFC 4180) with commas, semicolons or bars,
// tabs, and the logs of Zeek. encoding/csv reads the cells; this file decides what separates them, and which column it is.
//
// A table is taken if most rows of the first lines have the same number of cells and one column has
// a URL in most of them. A header that names the column wins. URLs hold commas and semicolons themselves, so without a
// header rows such as "http://a.example/news,123" can be a table or a list: see [doubtful].
type tableParser struct {
	opt     *Options
	sep     rune
	column  [meanings]int // -1 for none
	names   []string      // of the columns, as plainName writes them; nil without a header
	header  string        // its line
	zeek    bool
	width   int // cells that most rows have
	pending string
	lines   int // of pending
	in      *csv.Reader
	feed    strings.Reader
}

// maxRow bounds the lines that a cell with line ends may take. A quote that is not closed costs no more.
const maxRow = 50

// learnTable returns the parser of a table, nil for what is none, or an error where two readings are equally good.
func learnTable(lines []string, opt *Options) (*tableParser, error) {
	var best *tableParser
	var doubt error
	for _, sep := range "\t;,|" {
		t := newTable(sep, opt)
		rows := t.sample(lines)
		ok, err := t.learn(rows)
		switch {
		case err != nil:
			doubt = err
		case ok && (best == nil || t.better(best)):
			best = t
		}
	}
	if best == nil {
		return nil, doubt
	}
	if doubt != nil && best.names == nil {
		return nil, doubt
	}
	fresh := newTable(best.sep, opt)
	fresh.column, fresh.names, fresh.header, fresh.zeek, fresh.width = best.column, best.names, best.header, best.zeek, best.width
	return fresh, nil
}

func newTable(sep rune, opt *Options) *tableParser {
	t := &tableParser{opt: opt, sep: sep}
	t.in = csv.NewReader(&t.feed)
	t.in.Comma, t.in.LazyQuotes, t.in.FieldsPerRecord, t.in.TrimLeadingSpace = sep, true, -1, sep != '\t'
	for i := range t.column {
		t.column[i] = -1
	}
	return t
}

// better prefers the table whose column a header names, and then the one with more cells.
func (t *tableParser) better(than *tableParser) bool {
	if named := t.names != nil; named != (than.names != nil) {
		return named
	}
	return t.width > than.width
}

// sample returns the rows of the first lines; the header is among them.
func (t *tableParser) sample(lines []string) (rows [][]string) {
	for _, line := range lines {
		if names, ok := strings.CutPrefix(line, "#fields\t"); ok && t.sep == '\t' {
			t.zeek, line = true, names
		} else if line[0] == '#' {
			if len(rows) > 0 || t.zeek || !strings.ContainsRune(line, t.sep) {
				continue
			}
			line = strings.TrimLeft(line, "# ")
		} else if strings.HasPrefix(line, "sep=") {
			continue
		}
		if cells, err := t.cells(line); err == nil && cells != nil {
			rows = append(rows, cells)
		}
	}
	return rows
}

// learn finds the columns. It reports whether this is a table.
func (t *tableParser) learn(rows [][]string) (bool, error) {
	if len(rows) == 0 {
		return false, nil
	}
	widths := map[int]int{}
	for _, cells := range rows {
		if widths[len(cells)]++; widths[len(cells)] > widths[t.width] {
			t.width = len(cells)
		}
	}
	if t.width < 2 || 3*widths[t.width] < 2*len(rows) && t.sep != '\t' { // no URL has a tab
		return false, nil
	}
	body := rows
	if t.isHeader(rows) {
		t.names, body = nil, rows[1:]
		for _, name := range rows[0] {
			t.names = append(t.names, plainName(name))
		}
		for len(t.names) < t.width {
			t.names = append(t.names, "")
		}
		t.header = strings.Join(rows[0], string(t.sep))
	}
	shares := make([]int, t.width) // rows with a URL in each column
	for _, cells := range body {
		for i, cell := range cells[:min(len(cells), t.width)] {
			if plausible(strings.ReplaceAll(strings.TrimSpace(cell), " ", "+")) {
				shares[i]++
			}
		}
	}
	ok, err := t.choose(body, shares)
	if ok && err == nil && t.names == nil {
		t.statusOf(body)
		if t.column[aURL] >= 0 && t.sep != '\t' {
			err = doubtful(t, body)
		}
	}
	return ok && err == nil, err
}

// isHeader reports whether the first row has names: no cell of it is a URL, a number or empty, unless
// it has the name of a URL.
func (t *tableParser) isHeader(rows [][]string) bool {
	known, words := false, true
	for _, cell := range rows[0] {
		name := plainName(cell)
		if strings.Contains(cell, "://") || strings.HasPrefix(cell, "/") {
			return false
		}
		if slices.Contains(vocabulary[aURL], name) || slices.Contains(vocabulary[aHost], name) || slices.Contains(vocabulary[aPath], name) || isURLName(name) {
			known = true
		}
		if _, err := strconv.ParseFloat(cell, 64); err == nil || cell == "" {
			words = false
		}
	}
	return known || words && len(rows) > 1
}

// isURLName reports whether a column is of URLs by its name, though not by the vocabulary.
func isURLName(name string) bool {
	return strings.HasSuffix(name, "url") || strings.HasPrefix(name, "url") || strings.HasSuffix(name, "uri")
}

// choose chooses the column of the URL.
func (t *tableParser) choose(body [][]string, shares []int) (bool, error) {
	if field := t.opt.URLField; field != "" {
		n, err := strconv.Atoi(field)
		if err != nil {
			n = slices.Index(t.names, plainName(field)) + 1
		}
		t.column[aURL] = n - 1
		t.name(body)
		return n > 0 && n <= t.width, nil
	}
	if t.names != nil {
		t.name(body)
		for _, name := range vocabulary[aURL] {
			if i := slices.Index(t.names, name); i >= 0 && i < t.width && (len(body) == 0 || t.holds(body, i, shares)) {
				t.column[aURL] = i
				return true, nil
			}
		}
		if t.column[aHost] >= 0 && t.column[aPath] >= 0 {
			return true, nil
		}
	}
	var found []int
	for i, n := range shares {
		if 2*n > len(body) && (t.names == nil || !foreign.MatchString(t.names[i]) && i != t.column[aReferrer] && i != t.column[aRedirect]) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		return false, nil
	case len(found) > 1:
		return false, bad("its columns %s and %s both have URLs: name one with --url-field", t.called(found[0]), t.called(found[1]))
	case t.names == nil && t.isLog(body, found[0]):
		return false, bad("column %d has URLs, but those before it are of a log, so they may be referrers: name the column with --url-field %d", found[0]+1, found[0]+1)
	}
	t.column[aURL] = found[0]
	return true, nil
}

// holds reports whether a column that is named as URLs has some, or paths or hosts, in most rows.
func (t *tableParser) holds(body [][]string, column int, shares []int) bool {
	if 2*shares[column] > len(body) {
		return true
	}
	n := 0
	for _, cells := range body {
		if column < len(cells) && (strings.HasPrefix(cells[column], "/") || isHost(cells[column]) || plausible(cells[column])) {
			n++
		}
	}
	return 2*n > len(body)
}

// name looks up the columns of the other meanings. A column is of statuses by its name and its cells: many
// tables call other things a status.
func (t *tableParser) name(body [][]string) {
	for m := range meanings {
		for _, name := range vocabulary[m] {
			i := slices.Index(t.names, name)
			if i < 0 || m == aURL || t.column[m] >= 0 {
				continue
			}
			numbers := 0
			for _, cells := range body {
				if i < len(cells) && len(cells[i]) < 4 && strings.Trim(cells[i], "0123456789-") == "" {
					numbers++
				}
			}
			if m != aStatus || 2*numbers > len(body) || len(body) == 0 {
				t.column[m] = i
			}
		}
	}
}

func (t *tableParser) called(column int) string {
	if t.names != nil {
		return fmt.Sprintf("%q", t.names[column])
	}
	return strconv.Itoa(column + 1)
}

// isLog reports whether a column before that of the URL has methods, paths or addresses: then the URL may be a referrer.
func (t *tableParser) isLog(body [][]string, url int) bool {
	for column := range url {
		n := 0
		for _, cells := range body {
			if column < len(cells) && (strings.HasPrefix(cells[column], "/") || isMethod(cells[column]) || isAddress(cells[column])) {
				n++
			}
		}
		if 2*n > len(body) {
			return true
		}
	}
	return false
}

func isMethod(s string) bool {
	return slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT"}, s)
}

// codes are the statuses that a column must consist of to be one of statuses without being called so.
var codes = []string{"200", "201", "202", "204", "206", "301", "302", "303", "304", "307", "308", "400", "401", "403", "404", "405", "406", "408", "410", "429", "451", "500", "502", "503", "504", "0", "000", "-"}

// statusOf finds the column of the status where there is no header.
func (t *tableParser) statusOf(body [][]string) {
	for column := range t.width {
		if column != t.column[aURL] && !slices.ContainsFunc(body, func(cells []string) bool {
			return column >= len(cells) || !slices.Contains(codes, cells[column])
		}) {
			t.column[aStatus] = column
			return
		}
	}
}

// doubtful returns an error if the rows can as well be whole URLs. That is so if what stands behind the URL has only characters of
// URLs, and looks like the end of one: like an id, a file name or a parameter.
func doubtful(t *tableParser, body [][]string) error {
	column, inQuery, tails, ids := t.column[aURL], 0, 0, map[string]bool{}
	for _, cells := range body {
		if column >= len(cells) {
			continue
		}
		rest := cells[column+1:]
		if t.width == len(rest)+1 && column == 0 {
			if strings.ContainsAny(cells[0], "?#") {
				inQuery++
			}
			for i, cell := range rest {
				switch {
				case strings.ContainsAny(cell, " \"%<>") || cell == "" || strings.Contains(cell, "://"):
					return nil // no URL goes on like this
				case i == len(rest)-1 && (strings.ContainsAny(cell, "=&?") || isFileName(cell)):
					tails++
				case len(rest) == 1 && len(cell) > 3 && strings.Trim(cell, "0123456789") == "":
					ids[cell] = true
				}
			}
		}
	}
	n := len(body)
	if column == 0 && (2*inQuery > n || 2*tails > n || n > 2 && len(ids) == n || n < 2) {
		return bad("its lines are URLs with %q in them, or a table: choose with %s list or %[2]s table", string(t.sep), t.opt.Flag)
	}
	return nil
}

// isFileName reports whether a text ends as the path of a URL does: in a path, or in a file's extension.
func isFileName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if strings.Contains(s, "/") && !slices.Contains([]string{"text", "application", "image", "audio", "video", "font"}, s[:strings.IndexByte(s, '/')]) {
		return true
	}
	return i >= 0 && len(s)-i > 2 && len(s)-i < 7 && strings.Trim(s[i+1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// cells reads a row, or returns nil where it goes on in the next line.
func (t *tableParser) cells(text string) ([]string, error) {
	if t.pending != "" {
		text = t.pending + "\n" + text
	}
	t.lines++
	if t.zeek {
		t.lines = 0
		return strings.Split(text, "\t"), nil
	}
	if t.lines < maxRow && t.isOpen(text) {
		t.pending = text
		return nil, nil
	}
	t.pending, t.lines = "", 0
	t.feed.Reset(text + "\n")
	cells, err := t.in.Read()
	if rest := t.feed.Len(); err == nil && rest > 0 {
		err = bad("got a quote that is not closed")
	}
	for err == nil || err == io.EOF {
		if _, more := t.in.Read(); more != nil {
			break // what a quote left open is done with
		}
		err = bad("got a quote that is not closed in %d lines", maxRow)
	}
	return cells, err
}

// isOpen reports whether a cell begins with a quote that the text does not close.
func (t *tableParser) isOpen(text string) bool {
	for sep := string(t.sep); text != ""; {
		if t.sep != '\t' {
			text = strings.TrimLeft(text, " ")
		}
		if !strings.HasPrefix(text, `"`) {
			_, text, _ = strings.Cut(text, sep)
			continue
		}
		rest := strings.ReplaceAll(text[1:], `""`, "..")
		for {
			i := strings.IndexByte(rest, '"')
			if i < 0 {
				return true
			}
			if rest = rest[i+1:]; rest == "" || strings.HasPrefix(rest, sep) {
				break
			}
		}
		text = strings.TrimPrefix(rest, sep)
	}
	return false
}

func (t *tableParser) line(text string, emit func(Record)) error {
	switch {
	case strings.TrimSpace(text) == "" && t.pending == "":
		return isBlankLine
	case t.pending != "":
	case strings.HasPrefix(text, "#fields\t"):
		if t.zeek {
			*t = *newTable(t.sep, t.opt)
			t.zeek = true
			t.names = strings.Split(strings.TrimPrefix(text, "#fields\t"), "\t")
			t.width = len(t.names)
			t.name(nil)
		}
		return isHeader
	case text[0] == '#' && t.names != nil && strings.Contains(text, string(t.sep)) && t.isNames(strings.TrimLeft(text, "# ")):
		return isHeader
	case text[0] == '#':
		return isComment
	case strings.HasPrefix(text, "sep="), t.names != nil && t.isNames(text):
		return isHeader
	}
	cells, err := t.cells(text)
	if cells == nil || err != nil {
		return err
	}
	r, err := t.record(cells)
	if err == nil {
		emit(r)
	}
	return err
}

// isNames reports whether a line is the header, which comes again where files were joined.
func (t *tableParser) isNames(text string) bool {
	if t.zeek || text[0] != t.header[0] && text[0] != '"' {
		return false
	}
	cells, err := t.cells(text)
	t.pending, t.lines = "", 0
	return err == nil && strings.Join(cells, string(t.sep)) == t.header
}

func (t *tableParser) end(emit func(Record)) error {
	if t.pending == "" {
		return nil
	}
	t.pending = ""
	return bad("got a quote that is not closed")
}

// record makes a record of a row.
func (t *tableParser) record(cells []string) (Record, error) {
	get := func(m meaning) string {
		if i := t.column[m]; i >= 0 && i < len(cells) {
			if s := strings.TrimSpace(cells[i]); s != "(empty)" {
				return given(s)
			}
		}
		return ""
	}
	column := t.column[aURL]
	if column >= len(cells) {
		return Record{}, bad("got %d columns; want a URL in column %d", len(cells), column+1)
	}
	r := Record{URL: get(aURL), Kind: Listed, Time: anyTime(get(aTime)), Via: get(aReferrer), Redirect: get(aRedirect), Digest: bareDigest(get(aDigest))}
	host, target := get(aHost), get(aPath)
	if strings.HasPrefix(r.URL, "/") {
		target = r.URL
	}
	switch {
	case isURL(strings.ReplaceAll(r.URL, " ", "+")):
	case strings.HasPrefix(target, "/") && host != "":
		r.URL = addQuery(site(get(aScheme), host, get(aPort))+target, get(aQuery))
	case strings.HasPrefix(target, "/") && t.opt.Base != "" && t.opt.Base != DefaultBase:
		r.URL = t.opt.Base + target
	case strings.HasPrefix(target, "/"):
		return r, bad("got a path and no host; name it with --base")
	case isHost(r.URL) && t.opt.Scheme != "":
		r.URL = t.opt.Scheme + "://" + r.URL
	case isHost(r.URL):
		return r, bad("got no scheme; for https://, add --scheme https")
	case r.URL == "" || !hasScheme(r.URL):
		return r, bad("got %q in the column of URLs", r.URL)
	}
	if t.column[aStatus] >= 0 {
		r.Kind = Fetch
		r.answered(get(aStatus))
	}
	return r, nil
}

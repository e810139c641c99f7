package logs

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A tableParser reads rows of cells, one of which is a URL: CSV (RFC 4180) with commas, semicolons or bars,
// tabs, and the logs of Zeek. This file decides what separates the cells, and which column it is.
//
// A table is taken if one column has a URL in most of the first rows. A header that names the column wins, whatever stands before
// it: reports have titles. Without one the rows must have as many cells each, and the column must be the only one. URLs hold commas
// and semicolons themselves, so rows such as "http://a.example/news,123" can be a table or a list: see [doubtful].
type tableParser struct {
	opt       *Options
	sep       string
	literal   bool           // quotes are characters, as in many files of tabs
	backslash bool           // quotes in a cell have one before them, as databases write them, and are not doubled
	column    [meanings]int  // -1 for none
	fields    []int          // columns of Options.Fields, -1 for none
	answers   []answerColumn // that say whether there was an answer
	names     []string       // of the columns, as plainName writes them; nil without a header
	header    []string       // its cells
	titled    bool           // the header is still to come
	gap       bool           // the line before was blank: a second table can follow
	zeek      bool
	width     int      // cells that most rows have
	fit       int      // rows that have as many
	held      []string // lines of a row whose quote is open
	row       []string
}

// maxRow bounds the lines that a cell with line ends may take. A quote that is not closed costs no more.
const maxRow = 50

// learnTable returns the parser of a table, nil for what is none, or an error where two readings are equally good.
func learnTable(lines []string, opt *Options) (*tableParser, error) {
	var best *tableParser
	var doubt error
	var doubted *tableParser
	trials := []*tableParser{{sep: "\t"}, {sep: "\t", literal: true}, {sep: ";"}, {sep: ","}, {sep: "|"}, {sep: "│"}}
	if slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, `\"`) }) {
		trials = append(trials, &tableParser{sep: ";", backslash: true}, &tableParser{sep: ",", backslash: true}, &tableParser{sep: "\t", backslash: true})
	}
	for _, t := range trials {
		t.opt = opt
		for i := range t.column {
			t.column[i] = -1
		}
		ok, err := t.learn(lines)
		switch {
		case err != nil && (doubted == nil || t.better(doubted)):
			doubt, doubted = err, t
		case ok && (best == nil || t.better(best)):
			best = t
		}
	}
	if best == nil && doubt == nil {
		return oneColumn(lines, opt), nil
	}
	if best == nil || doubted != nil && !best.better(doubted) {
		return nil, doubt
	}
	best.held = nil
	best.titled = best.names != nil && !best.zeek
	return best, nil
}

// oneColumn returns the parser of a table with a single column, or nil. Its rows are those of a list with a title, unless some are quoted.
func oneColumn(lines []string, opt *Options) *tableParser {
	quoted := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, `"`) })
	if len(lines) == 0 || !quoted && opt.Format != Table {
		return nil
	}
	t := &tableParser{opt: opt, sep: ",", width: 1, fit: len(lines), titled: true}
	for i := range t.column {
		t.column[i] = -1
	}
	names, _, err := t.cells(lines[0])
	if err != nil || len(names) != 1 || !isURLName(plainName(names[0])) {
		return nil
	}
	t.header, t.names = slices.Clone(names), []string{plainName(names[0])}
	ok, err := t.choose(nil, nil, 0)
	if !ok || err != nil {
		return nil
	}
	return t
}

// better prefers the table whose column a header names, and then the one that more rows fit, and with more cells.
func (t *tableParser) better(than *tableParser) bool {
	if named := t.names != nil; named != (than.names != nil) {
		return named
	}
	if t.sep == than.sep {
		return t.fit > than.fit
	}
	return t.width > than.width
}

// learn finds the columns by the first lines. It reports whether this is a table.
func (t *tableParser) learn(lines []string) (bool, error) {
	var rows [][]string
	var hash []string // the last comment with columns
	for _, line := range lines {
		if names, ok := strings.CutPrefix(line, "#fields\t"); ok && t.literal {
			t.zeek, line = true, names
		} else if line[0] == '#' && len(t.held) == 0 && !(len(rows) == 0 && strings.HasPrefix(line, "#"+t.sep)) {
			if cells := strings.Split(strings.TrimLeft(line, "# "), t.sep); len(rows) == 0 {
				hash = cells
			}
			continue
		} else if strings.HasPrefix(line, "sep=") {
			continue
		}
		if cells, _, err := t.cells(line); err == nil && cells != nil && !isRule(line) {
			rows = append(rows, slices.Clone(cells))
		}
	}
	widths := map[int]int{}
	for _, cells := range rows {
		if n := len(cells); n > 1 {
			if widths[n]++; widths[n] > t.fit || widths[n] == t.fit && n > t.width {
				t.width, t.fit = n, widths[n]
			}
		}
	}
	if t.width < 2 {
		return false, nil
	}
	body := t.findHeader(rows, hash)
	if t.names != nil {
		if i := slices.IndexFunc(body, t.isNames); i > 0 { // of a second table
			body = body[:i]
		}
	}
	if t.names == nil && 3*t.fit < 2*len(rows) && t.sep != "\t" { // no URL has a tab
		return false, nil
	}
	shares, asked := t.shares(body, isURLCell)
	ok, err := t.choose(body, shares, asked)
	hosts, _ := t.shares(body, isHost)
	if !ok && err == nil && t.names == nil {
		if ok, err = t.choose(body, hosts, asked); ok && t.opt.Scheme == "" {
			err = bad("its column %s has hosts or paths without a scheme: for https://, add --scheme https", t.called(t.column[aURL]))
		}
	}
	t.findAnswers(body)
	if ok && err == nil {
		err = t.redirects(body)
	}
	for i := range shares {
		switch {
		case ok || err != nil || t.names == nil || t.opt.URLField != "":
		case 2*shares[i] > asked:
			err = bad("its column %s has URLs, but of something else than the pages, by its name: if they are meant, name it with --url-field", t.called(i))
		case 2*hosts[i] > asked && t.opt.Scheme == "":
			err = bad("its column %s has hosts or paths without a scheme: for https://, add --scheme https --url-field %d", t.called(i), i+1)
		}
	}
	if ok && err == nil && t.names == nil {
		if t.column[aURL] >= 0 && t.sep != "\t" && t.opt.Format != Table {
			err = doubtful(t, body)
		}
		if err == errList {
			return false, nil
		}
	}
	return ok && err == nil, err
}

// isURLCell reports whether a cell is a URL, which may have blanks, but no tags as tools print them behind one.
func isURLCell(cell string) bool {
	return plausible(strings.ReplaceAll(cell, " ", "+")) && !strings.Contains(cell, " [") && (!strings.Contains(cell, " (") || strings.Contains(cell, ")"))
}

// shares counts the rows whose cell is what is asked for, of each column, and the rows.
func (t *tableParser) shares(body [][]string, is func(cell string) bool) (shares []int, asked int) {
	shares = make([]int, t.width)
	for _, cells := range body {
		if len(cells) > 1 || t.names == nil {
			asked++
		}
		for i, cell := range cells[:min(len(cells), t.width)] {
			if is(strings.TrimSpace(cell)) {
				shares[i]++
			}
		}
	}
	return shares, asked
}

// findHeader finds the names of the columns, and returns the rows behind them. Names are words; a known one is enough, and
// so is a row of words as wide as the rows, right before them.
func (t *tableParser) findHeader(rows [][]string, hash []string) [][]string {
	header := -1
	for i, cells := range rows[:min(len(rows), maxTitle)] {
		known, words := false, len(cells) >= t.width && i+1 < len(rows)
		for c, cell := range cells {
			name := plainName(cell)
			if strings.Contains(cell, "://") || strings.HasPrefix(cell, "/") {
				known, words = false, false
				break
			}
			known = known || isURLName(name) || slices.Contains(vocabulary[aHost], name) && len(cells) > 1 || slices.Contains(vocabulary[aPath], name) && len(cells) > 1
			_, err := strconv.ParseFloat(strings.TrimSuffix(cell, "%"), 64)
			words = words && err != nil && (cell != "" || c == len(cells)-1)
		}
		if slices.ContainsFunc(cells, func(s string) bool { return plausible(s) || cellURL.MatchString(s) }) {
			break
		}
		if len(cells) > 1 && (known || words && 2*t.fit > len(rows)-i) {
			if header = i; known {
				break
			}
		}
	}
	names := hash
	switch {
	case header >= 0:
		names, t.header = rows[header], rows[header]
	case len(hash) < t.width || !slices.ContainsFunc(hash, func(s string) bool { return isURLName(plainName(s)) }):
		return rows
	}
	t.names = nil
	for _, name := range names {
		t.names = append(t.names, plainName(name))
	}
	t.width = max(len(t.names), t.width)
	for len(t.names) < t.width {
		t.names = append(t.names, "")
	}
	return rows[header+1:]
}

// cellURL matches a URL that another separator cuts off.
var cellURL = regexp.MustCompile(`[,;|\t"]https?://`)

// isURLName reports whether a column is of URLs by its name.
func isURLName(name string) bool {
	return slices.Contains(vocabulary[aURL], name) || strings.HasSuffix(name, "url") || strings.HasSuffix(name, "uri") || strings.HasPrefix(name, "pagepath")
}

// beside are names of columns with URLs that are not the page's own.
var beside = regexp.MustCompile(`referr?ers?(?:url|page)?$|^(?:http|request)?referr?er|image|canoni|canón|kanoni|канони|redirect|weiterleit|cover|thumb|logo|icon|sitemap|avatar|screenshot|photo|picture|poster|` +
	`^parent|^via$|seealso|camefrom|foundat|^el.*index$|реферер|参照元`)

// choose chooses the column of the URL.
func (t *tableParser) choose(body [][]string, shares []int, asked int) (bool, error) {
	if field := t.opt.URLField; field != "" {
		n := t.columnOf(field)
		t.column[aURL] = n
		t.name(body)
		return n >= 0 && n < t.width, nil
	}
	if t.names != nil {
		t.name(body)
		for _, name := range vocabulary[aURL] {
			if i := slices.Index(t.names, name); i >= 0 && i < t.width && (len(body) == 0 || t.holds(body, i)) {
				t.column[aURL] = i
				return true, t.rival(i, shares, asked)
			}
		}
		if t.column[aHost] >= 0 && t.column[aPath] >= 0 {
			return true, nil
		}
	}
	var found []int
	for i, n := range shares {
		if 2*n > asked && (t.names == nil || !beside.MatchString(t.names[i])) {
			found = append(found, i)
		}
	}
	if len(found) == 0 && t.names != nil { // paths of one site, or hosts
		for i, name := range t.names {
			if !beside.MatchString(name) && (isURLName(name) || slices.Contains(vocabulary[aHost], name) || slices.Contains(vocabulary[aPath], name)) && t.holds(body, i) {
				found = append(found, i)
			}
		}
	}
	switch {
	case len(found) == 0:
		return false, nil
	case len(found) > 1:
		return false, bad("its columns %s and %s both have URLs: name one with --url-field", t.called(found[0]), t.called(found[1]))
	case t.isLog(body, found[0]):
		return false, bad("its column %s has URLs, but another has paths, as logs and maps of redirects have, so they may be referrers or targets: name the column with --url-field %d", t.called(found[0]), found[0]+1)
	}
	t.column[aURL] = found[0]
	return true, nil
}

// own are the names of the column that a row is about, whatever other URLs it has. Others, such as a page and a link, can both be.
var own = []string{"url", "matchedat", "originalurl", "originaluri", "original", "fullurl", "requesturl", "permalink", "loc", "address", "urladdress", "csuri"}

// rival returns an error if another column could as well be meant as one that a header names.
func (t *tableParser) rival(column int, shares []int, asked int) error {
	for i, name := range t.names {
		if i != column && !slices.Contains(own, t.names[column]) && isURLName(name) && !beside.MatchString(name) && 2*shares[i] > asked {
			return bad("its columns %s and %s both have URLs: name one with --url-field", t.called(min(i, column)), t.called(max(i, column)))
		}
	}
	return nil
}

// findAnswers finds the columns that tell answers from failures, by their names and by their cells; one that is named a status is better
// than all that only look like one.
func (t *tableParser) findAnswers(body [][]string) {
	t.answers, t.column[aStatus] = nil, -1
	rank := len(vocabulary[aStatus])
	for column := range t.width {
		if column == t.column[aURL] {
			continue
		}
		name, cells := "", []string(nil)
		if t.names != nil {
			name = t.names[column]
		}
		for _, row := range body {
			if column < len(row) && (t.column[aURL] < 0 || t.column[aURL] < len(row)) {
				cells = append(cells, strings.TrimSpace(row[column]))
			}
		}
		is, strict := judge(name, cells)
		switch {
		case slices.Contains(vocabulary[anError], name) || someError.MatchString(name):
			t.answers = append(t.answers, answerColumn{at: column, says: errorOf})
		case slices.Contains(vocabulary[aSuccess], name):
			t.answers = append(t.answers, answerColumn{at: column, says: successOf})
		case is == worked:
			t.answers = append(t.answers, answerColumn{at: column, says: verdictOf})
		case is == silent && !counted.MatchString(name):
			t.answers = append(t.answers, answerColumn{at: column, late: true, says: lateOf})
		case is == answered:
			r := slices.Index(vocabulary[aStatus], name)
			if r < 0 {
				r = len(vocabulary[aStatus])
			}
			if r < rank {
				t.answers = slices.DeleteFunc(t.answers, func(a answerColumn) bool { return a.strict || a.at == t.column[aStatus] })
			} else if r > rank || r == rank && r < len(vocabulary[aStatus]) {
				continue
			}
			rank, t.column[aStatus] = r, column
			t.answers = append(t.answers, answerColumn{at: column, strict: strict, says: verdictOf})
		}
	}
}

// holds reports whether a column that is named as URLs has some, or paths or hosts, in most rows that have something there.
func (t *tableParser) holds(body [][]string, column int) bool {
	n, asked := 0, 0
	for _, cells := range body {
		if column < len(cells) && strings.TrimSpace(cells[column]) != "" {
			if ofNoWeb.MatchString(cells[column]) {
				continue
			}
			asked++
			if cell := strings.TrimSpace(cells[column]); strings.HasPrefix(cell, "/") || isHost(cell) || isURLCell(cell) {
				n++
			}
		}
	}
	return n > 0 && 2*n >= asked
}

// name looks up the columns of the other meanings.
func (t *tableParser) name(body [][]string) {
	for m := range meanings {
		for _, name := range vocabulary[m] {
			i := slices.Index(t.names, name)
			if i < 0 || m == aURL || m == aStatus || t.column[m] >= 0 {
				continue
			}
			fits := 0
			for _, cells := range body {
				cell := ""
				if i < len(cells) {
					cell = strings.TrimSpace(cells[i])
				}
				if (m != aScheme || isScheme(cell)) && (m != aTime || cell == "" || !ParseTime(cell).IsZero()) {
					fits++
				}
			}
			if 2*fits > len(body) || len(body) == 0 {
				t.column[m] = i
			}
		}
	}
}

func (t *tableParser) called(column int) string {
	if column < len(t.header) {
		return strconv.Quote(strings.TrimSpace(t.header[column]))
	}
	return strconv.Itoa(column + 1)
}

// isLog reports whether another column has paths: then those are what was asked for, and the URL may be a referrer. A name can say that
// the URL is the page's.
func (t *tableParser) isLog(body [][]string, url int) bool {
	for column := range t.width {
		if t.names != nil && (isURLName(t.names[url]) && !isURLName(t.names[column]) || slices.Contains(vocabulary[aHost], t.names[url])) {
			continue
		}
		n := 0
		for _, cells := range body {
			if column != url && column < len(cells) && request.MatchString(cells[column]) {
				n++
			}
		}
		if 2*n > len(body) {
			return true
		}
	}
	return false
}

// redirects returns an error if all rows have the status of a redirect and a text more, but no name says of the URL that it is what was asked
// for: then it can be the target.
func (t *tableParser) redirects(body [][]string) error {
	url, status, text := t.column[aURL], t.column[aStatus], false
	if url < 0 || status < 0 || len(body) == 0 || t.opt.URLField != "" || t.names != nil && slices.Contains(vocabulary[aURL], t.names[url]) {
		return nil
	}
	for _, cells := range body {
		if status >= len(cells) || !strings.HasPrefix(strings.TrimSpace(cells[status]), "3") {
			return nil
		}
		for i, cell := range cells {
			text = text || i < url && i != status && strings.Trim(cell, " -0123456789") != ""
		}
	}
	urls := 0
	for _, name := range t.names {
		if isURLName(name) {
			urls++
		}
	}
	if !text || urls == 1 && isURLName(t.names[url]) {
		return nil
	}
	return bad("its rows are redirects, and the URLs in column %s can be their targets: name the column with --url-field %d", t.called(url), url+1)
}

// request matches what a client asks a server for.
var request = regexp.MustCompile(`^(?:[A-Z]+ )?/`)

// doubtful returns an error if the rows can as well be whole URLs. That is so unless what stands behind the URL in most rows has something that
// cells have and URLs don't, such as nothing, a status, a date or a quote: an id, a number and a word are of URLs as well.
func doubtful(t *tableParser, body [][]string) error {
	column, certain, parameters := t.column[aURL], 0, 0
	for _, cells := range body {
		if column >= len(cells) {
			continue
		}
		rest := cells[column+1:]
		if t.sep == ";" && !slices.ContainsFunc(rest, func(s string) bool { return !parameter.MatchString(s) }) {
			parameters++ // of the path, as in ";id=1"
		}
		tail := len(rest) > 0 && (strings.ContainsAny(rest[len(rest)-1], "=&?") || isFileName(rest[len(rest)-1]))
		if slices.ContainsFunc(rest, func(s string) bool {
			return strings.ContainsAny(s, " \"%<>") || (cell.MatchString(s) || successes.MatchString(s) || failures.MatchString(s)) && !tail
		}) {
			certain++
		}
	}
	switch n := len(body); {
	case column > 0:
		return nil
	case parameters == n && n > 0:
		return errList
	case 2*certain < n:
		return bad("its lines are URLs with %q in them, or a table: choose with %s list or %[2]s table", t.sep, t.opt.Flag)
	}
	return nil
}

// parameter matches a parameter of a path; errList means that rows are URLs.
var (
	parameter = regexp.MustCompile(`^[\w.-]+=`)
	errList   = errors.New("got URLs, not rows")
)

// isFileName reports whether a text ends as the path of a URL does: in a path, or in a file's extension.
func isFileName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if strings.Contains(s, "/") && !slices.Contains([]string{"text", "application", "image", "audio", "video", "font"}, s[:strings.IndexByte(s, '/')]) {
		return true
	}
	return i >= 0 && len(s)-i > 2 && len(s)-i < 7 && strings.Trim(s[i+1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// cells reads a row, or returns nil where it goes on in the next line. The cells are valid until the next call.
//
// A cell can have lines that look like rows, and a quote can stand for itself, as in a title of 5" that nobody quoted. So a quote is waited
// for as long as the text keeps to RFC 4180, and ends a row if that has as many cells as the table. Otherwise a line that is a row by itself
// says that the quote before it was none: again are the lines from the first such one, which are to be read once more, and t.held those before.
func (t *tableParser) cells(line string) (cells, again []string, err error) {
	if t.backslash {
		line = strings.ReplaceAll(line, `\"`, `""`)
	}
	t.held = append(t.held, line)
	text, n := strings.Join(t.held, "\n"), len(t.held)
	open, strict := t.split(text)
	waits := open && n < maxRow
	if n > 1 && !(strict && (waits || !open && len(t.row) == t.width)) {
		if i := t.firstRow(); i > 0 {
			t.held, again = t.held[:i:i], t.held[i:]
			return nil, again, nil
		}
		t.split(text)
	}
	if waits {
		return nil, nil, nil
	}
	if t.held = t.held[:0]; open {
		return nil, nil, &lostLines{int64(n - 1), bad("got a quote that is not closed in %d lines", maxRow)}
	}
	return t.row, nil, nil
}

// firstRow returns the first line behind an open quote that is a row by itself; 0 if none is.
func (t *tableParser) firstRow() int { return 1 + slices.IndexFunc(t.held[1:], t.isRow) }

// again reads lines that were held back behind a quote that stood for itself; the last of them is the line at hand. What was held is lost.
func (t *tableParser) again(lines []string, emit func(Record)) error {
	lost := &lostLines{n: int64(len(t.held))}
	t.held = nil
	for i, line := range lines {
		if lost.error != nil && !isOutcome(lost.error) {
			lost.n++
		}
		lost.error = t.line(line, func(r Record) {
			r.Line -= int64(len(lines) - 1 - i)
			emit(r)
		})
		if inner, ok := lost.error.(*lostLines); ok {
			lost.n, lost.error = lost.n+inner.n, inner.error
		}
	}
	return lost
}

func isOutcome(err error) bool {
	_, ok := err.(*outcome)
	return ok
}

// isRow reports whether a line is a row by itself, with a URL in its place.
func (t *tableParser) isRow(line string) bool {
	if !strings.Contains(line, "://") {
		return false
	}
	if open, _ := t.split(line); open || len(t.row) != t.width {
		return false
	}
	column := t.column[aURL]
	if column < 0 {
		column = slices.IndexFunc(t.row, plausible)
	}
	return column >= 0 && plausible(t.row[column])
}

// split cuts a text into the cells of t.row, and reports whether a quote is left open, and whether quoted cells are strictly as RFC 4180 has
// them: quotes in them are doubled, and behind them is a separator or the end. A quote that neither begins nor ends a cell
// stands for itself: encoding/csv reads the same with LazyQuotes, in three times the time, and can't say of a line whether it is a whole row.
func (t *tableParser) split(text string) (open, strict bool) {
	t.row, strict = t.row[:0], true
	for more := true; more; {
		if t.sep != "\t" {
			text = strings.TrimLeft(text, " \t")
		}
		cell := ""
		if t.literal || !strings.HasPrefix(text, `"`) {
			cell, text, more = strings.Cut(text, t.sep)
		} else {
			end, doubled := 1, false
			for closed := false; !closed; {
				i := strings.IndexByte(text[end:], '"')
				if i < 0 {
					return true, strict
				}
				if end += i + 1; strings.HasPrefix(text[end:], `"`) { // two stand for one
					end, doubled = end+1, true
				} else {
					rest := strings.TrimLeft(text[end:], " ")
					closed = rest == "" || strings.HasPrefix(rest, t.sep)
					strict = strict && closed && len(rest) == len(text)-end
				}
			}
			if cell = text[1 : end-1]; doubled {
				cell = strings.ReplaceAll(cell, `""`, `"`)
			}
			_, text, more = strings.Cut(text[end:], t.sep)
		}
		t.row = append(t.row, cell)
	}
	return false, strict
}

func (t *tableParser) line(text string, emit func(Record)) error {
	names, isFields := strings.CutPrefix(text, "#fields\t")
	switch {
	case len(t.held) > 0:
	case strings.TrimSpace(text) == "":
		t.gap = true
		return isBlankLine
	case t.zeek && isFields:
		t.rename(strings.Split(names, "\t"))
		t.header = nil
		return isHeader
	case text[0] == '#' && (t.header == nil || !strings.HasPrefix(t.header[0], "#")):
		return isComment
	case isRule(text):
		return isComment
	case strings.HasPrefix(text, "sep="):
		return isHeader
	}
	cells, again, err := t.cells(text)
	switch {
	case again != nil:
		return t.again(again, emit)
	case cells == nil:
		return err
	}
	return t.rowOf(cells, emit)
}

// rowOf reads the cells of a row.
func (t *tableParser) rowOf(cells []string, emit func(Record)) error {
	if same := t.header != nil && slices.Equal(cells, t.header); same || t.titled && t.header != nil {
		t.titled = t.titled && !same
		return isHeader // comes again where files were joined
	}
	r, err := t.record(cells)
	gap := t.gap
	t.gap = false
	switch {
	case err == nil:
		emit(r)
	case t.header != nil && (t.isNames(cells) || gap && t.areWords(cells)):
		t.rename(cells)
		return isHeader
	case strings.TrimSpace(strings.Join(cells, "")) == "":
		t.gap = true
		return other("a row of empty cells")
	}
	return err
}

// isNames reports whether a row without a URL is of names of columns, as where a second table stands below the first: one of them is of URLs,
// or two are known. A row that only lacks its URL can have one such word.
func (t *tableParser) isNames(cells []string) bool {
	if !t.areWords(cells) {
		return false
	}
	known := 0
	for _, cell := range cells {
		name := plainName(cell)
		if isURLName(name) || beside.MatchString(name) {
			return true
		}
		isOutcome := slices.Contains(vocabulary[anError], name) || slices.Contains(vocabulary[aSuccess], name) // which cells are, too
		if !isOutcome && slices.ContainsFunc(vocabulary[:], func(names []string) bool { return slices.Contains(names, name) }) {
			known++
		}
	}
	return known > 1
}

// areWords reports whether all cells are short texts.
func (t *tableParser) areWords(cells []string) bool {
	return len(cells) > 1 && !slices.ContainsFunc(cells, func(cell string) bool {
		return strings.TrimSpace(cell) == "" || len(cell) > 60 || numbers.MatchString(cell) || strings.ContainsAny(cell, "/:@")
	})
}

// rename takes the names of another table for those that follow. Without a name for the URL, or for the status that the rows before had,
// they are refused.
func (t *tableParser) rename(names []string) {
	had := t.column[aStatus] >= 0
	t.names, t.fields, t.header, t.width = nil, nil, slices.Clone(names), len(names)
	for _, name := range names {
		t.names = append(t.names, plainName(name))
	}
	for m := range t.column {
		t.column[m] = -1
	}
	t.name(nil)
	for _, name := range slices.Backward(vocabulary[aURL]) {
		if i := slices.Index(t.names, name); i >= 0 {
			t.column[aURL] = i
		}
	}
	if t.opt.URLField != "" {
		t.column[aURL] = t.columnOf(t.opt.URLField)
	}
	if t.findAnswers(nil); had && t.column[aStatus] < 0 {
		t.column[aURL] = -1
	}
}

// isRule reports whether a line is drawn between the rows of a table that is printed.
func isRule(text string) bool {
	const drawn = "-+=|: ─│┌┬┐├┼┤└┴┘═║"
	return len(text) > 4 && strings.Trim(text, drawn) == "" && (strings.Contains(text, "--") || strings.Contains(text, "──"))
}

func (t *tableParser) end(emit func(Record)) error {
	lost := &lostLines{error: bad("got a quote that is not closed")}
	for len(t.held) > 0 {
		i := t.firstRow()
		if i == 0 {
			i = len(t.held)
		}
		lines := t.held[i:]
		t.held = t.held[:i:i]
		inner := t.again(lines, emit).(*lostLines)
		if lost.n += inner.n; inner.error != nil && !isOutcome(inner.error) {
			lost.n++
		}
	}
	return lost
}

// record makes a record of a row.
func (t *tableParser) record(cells []string) (Record, error) {
	get := func(m meaning) string {
		if i := t.column[m]; i >= 0 && i < len(cells) {
			s := strings.TrimSpace(cells[i])
			if s == "(empty)" || m == aQuery && t.names != nil && t.names[i] == "query" && !strings.Contains(s, "=") { // what someone searched for
				return ""
			}
			return given(s)
		}
		return ""
	}
	column := t.column[aURL]
	if t.names == nil && column > 0 && len(cells) == 1 && plausible(cells[0]) { // a page, above the rows of its links
		return Record{URL: cells[0], Kind: Link}, nil
	}
	if column >= len(cells) {
		return Record{}, bad("got %d columns; want a URL in column %d", len(cells), column+1)
	}
	if len(cells) > t.width && !t.isPadded(cells) { // of a separator that nobody quoted
		return Record{}, bad("got %d columns; want %d", len(cells), t.width)
	}
	if len(cells) == 1 && t.width > 1 && strings.ContainsAny(cells[0], "\t,;|") { // of another table, or of one that nobody quoted
		return Record{}, bad("got %q where %d cells are parted by %q", cells[0], t.width, t.sep)
	}
	r := Record{URL: get(aURL), Kind: Listed, Time: ParseTime(get(aTime)), Via: get(aReferrer), Redirect: get(aRedirect), Digest: bareDigest(get(aDigest))}
	target := get(aPath)
	if strings.HasPrefix(r.URL, "/") {
		target = r.URL
	}
	switch {
	case strings.IndexByte(r.URL, ' ') > 0 && isTacked([]byte(r.URL)), strings.IndexByte(r.URL, '"') > 0 && quotedCell.MatchString(r.URL):
		return r, errTacked
	case isURL(strings.ReplaceAll(r.URL, " ", "+")):
	case strings.HasPrefix(target, "/"):
		host := get(aHost)
		_, bare, full := strings.Cut(host, "://")
		switch {
		case full && isServer(strings.TrimSuffix(bare, "/")):
		case !isServer(host):
			host = ""
		case !t.zeek && schemeless(host, get, t.opt):
			return r, errSchemeless
		}
		if r.URL = compose(host, target, get, t.opt); strings.HasPrefix(r.URL, DefaultBase) {
			return r, errHostless
		}
	case isHost(r.URL) && t.opt.Scheme != "":
		r.URL = t.opt.Scheme + "://" + r.URL
	case isHost(r.URL):
		return r, errNoScheme
	case column < 0 && t.column[aPath] < 0:
		return r, bad("got a row of another table, whose header names no URL, or no status where the one before does")
	case r.URL == "" || !hasScheme(r.URL):
		return r, bad("got %q in the column of URLs", r.URL)
	}
	if len(t.opt.Fields) > 0 {
		r.Fields = t.values(cells)
	}
	code, lost := "", false
	for _, a := range t.answers {
		cell := ""
		if a.at < len(cells) {
			cell = strings.TrimSpace(cells[a.at])
		}
		v, c, _ := a.says(cell)
		if a.late && t.column[aStatus] >= 0 {
			c = ""
		}
		code, lost = max(code, c), lost || v == failed || a.strict && v != answered && v != worked
	}
	switch {
	case code != "":
		r.Kind = Fetch
		r.answered(code)
	case lost:
		r.Kind = Link
	}
	return r, nil
}

// isPadded reports whether the cells beyond the last column are empty, as spreadsheets write them. The separator could be of
// the URL, too, and have moved the cells behind it, unless there are none or the status is where it should be.
func (t *tableParser) isPadded(cells []string) bool {
	status := t.column[aStatus]
	return strings.TrimSpace(strings.Join(cells[t.width:], "")) == "" &&
		(t.column[aURL] == t.width-1 || status > t.column[aURL] && slices.Contains(codes, strings.TrimSpace(cells[status])))
}

// values returns the cells of Options.Fields.
func (t *tableParser) values(cells []string) []string {
	if t.fields == nil {
		for _, name := range t.opt.Fields {
			t.fields = append(t.fields, t.columnOf(name))
		}
	}
	all := make([]string, len(t.fields))
	for i, column := range t.fields {
		if column >= 0 && column < len(cells) {
			all[i] = strings.TrimSpace(cells[column])
		}
	}
	return all
}

// has reports whether there is a column that a caller names, or one of what records know by that name.
func (t *tableParser) has(name string) bool {
	if n := t.columnOf(name); n >= 0 && n < t.width {
		return true
	}
	return slices.ContainsFunc(recorded, func(m meaning) bool {
		return t.column[m] >= 0 && slices.Contains(vocabulary[m], plainName(name))
	})
}

// columns returns the names of the columns, as the header has them.
func (t *tableParser) columns() []string {
	names := t.names
	if t.header != nil {
		names = t.header
	}
	return names[:min(len(names), 50)]
}

// columnOf returns the column that a caller names, by its name or its number from 1; -1 or less, or t.width or more, for none.
func (t *tableParser) columnOf(name string) int {
	if n, err := strconv.Atoi(name); err == nil {
		return n - 1
	}
	if i := slices.IndexFunc(t.header, func(s string) bool { return strings.TrimSpace(s) == name }); i >= 0 {
		return i // others can have the same plain name
	}
	if i := slices.IndexFunc(t.header, func(s string) bool { return squeezed(s) == squeezed(name) }); i >= 0 {
		return i
	}
	return slices.Index(t.names, plainName(name))
}

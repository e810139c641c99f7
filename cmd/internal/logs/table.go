package logs

import (
	"cmp"
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
// and semicolons themselves, so rows such as "http://a.example/news,123" can be a table or a list: see doubtful.
type tableParser struct {
	opt       *Options
	sep       string
	literal   bool           // quotes are characters, as in many files of tabs
	backslash bool           // quotes in a cell have one before them, as databases write them, and are not doubled
	titles    bool           // rows are a URL and a title, which has the separator, too
	column    [meanings]int  // -1 for none
	fields    []int          // columns of Options.Fields, -1 for none
	answers   []answerColumn // that say whether there was an answer
	names     []string       // of the columns, as plainName writes them; nil without a header
	header    []string       // its cells; nil if a comment has the names
	titled    bool           // the header is still to come
	gap       bool           // the line before was blank: a second table can follow
	zeek      bool
	links     bool     // of a graph: a URL was found on its referrer
	width     int      // cells that most rows have
	fit       int      // rows that have as many
	row       []string // the cells that were read last
	size      int      // bytes of the row that goes on
	labels    bool     // words in the column of URLs are hosts: most of it are, and the header or the caller says so
	guessed   bool     // nothing but their place says that the words of the header are names
}

// noColumns is column before any is found.
var noColumns = func() (none [meanings]int) {
	for m := range none {
		none[m] = -1
	}
	return none
}()

// maxRow bounds a row of several lines, in bytes: as long as one line may be. A quote that is not closed costs no more.
const maxRow = blockSize

// learnTable returns the parser of a table, nil for what is none, or an error where two readings are equally good.
func learnTable(lines []string, opt *Options) (*tableParser, error) {
	var best, doubted *tableParser
	var doubt error
	trials := []tableParser{{sep: "\t"}, {sep: "\t", literal: true}, {sep: ";"}, {sep: ","}, {sep: "|"}, {sep: "│"}, {sep: " | ", literal: true, titles: true}, {sep: "\x01"}, {sep: "~"}, {sep: "^"}, {sep: "::"}}
	if slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, `\"`) }) {
		trials = append(trials, tableParser{sep: ";", backslash: true}, tableParser{sep: ",", backslash: true}, tableParser{sep: "\t", backslash: true})
	}
	for i := range trials {
		t := &trials[i]
		t.opt = opt
		ok, err := t.learn(lines)
		switch {
		case slices.Contains([]string{"~", "^", "::"}, t.sep) && !slices.ContainsFunc(t.names, isURLName): // URLs have them, too
		case t.titles && (t.names != nil || t.column[aURL] != 0):
		case err != nil && (doubted == nil || t.better(doubted)):
			doubt, doubted = err, t
		case ok && (best == nil || t.better(best)):
			best = t
		}
	}
	switch {
	case best == nil && doubt == nil:
		return oneColumn(lines, opt), nil
	case best == nil || doubted != nil && !best.better(doubted):
		return nil, doubt
	}
	best.titled = best.header != nil && !best.zeek
	return best, nil
}

// oneColumn returns the parser of a table with a single column, or nil. Its rows are those of a list with a title, unless some are quoted.
func oneColumn(lines []string, opt *Options) *tableParser {
	quoted := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, `"`) })
	t := &tableParser{opt: opt, sep: ",", titled: true, column: noColumns}
	if len(lines) == 0 || !quoted && opt.Format != Table {
		return nil
	}
	if open, _ := t.split(lines[0]); open || len(t.row) != 1 || !t.rename(t.row) {
		return nil
	}
	return t
}

// better prefers a table with a named URL column, then the one that more rows fit, then the wider one.
func (t *tableParser) better(than *tableParser) bool {
	if named := t.names != nil; named != (than.names != nil) {
		return named
	}
	if t.sep == than.sep || t.width == than.width {
		return t.fit > than.fit
	}
	return t.width > than.width
}

// A sample is the first rows, and what the cells of each column are.
type sample struct {
	rows    [][]string
	asked   int // rows that are no titles
	columns []tally
}

// A tally counts the cells of a column: those with something in them, and of these, those with a URL, a host, a path, or a request. Addresses
// are hosts, too; labels are words that can be hosts.
type tally struct{ filled, urls, hosts, addresses, labels, paths, requests int }

// most reports whether a column has URLs, paths or hosts in most cells that have something.
func (c tally) most() bool {
	n := c.urls + c.hosts + c.paths
	return n > 0 && 2*n >= c.filled
}

// request matches a request line or its target.
var request = regexp.MustCompile(`^(?:[A-Z]+ )?/`)

func (t *tableParser) sample(rows [][]string) *sample {
	s := &sample{rows: rows, columns: make([]tally, t.width)}
	for _, cells := range rows {
		if len(cells) > 1 || t.names == nil {
			s.asked++
		}
		for i, cell := range cells[:min(len(cells), t.width)] {
			c := &s.columns[i]
			if cell = strings.TrimSpace(cell); cell == "" || ofNoWeb.MatchString(cell) {
				continue
			}
			c.filled++
			switch {
			case isURLCell(cell):
				c.urls++
			case isHost(cell):
				if c.hosts++; isAddress(cell) {
					c.addresses++
				}
			case isPath(cell):
				c.paths++
			case label.MatchString(cell):
				c.labels++
			}
			if request.MatchString(cell) {
				c.requests++
			}
		}
	}
	return s
}

// isData reports whether a row has a host or a path where most rows have one: then it is no header, whatever words are beside that. The first
// row counts for itself only: names of fields can look like hosts, as url.full does.
func (s *sample) isData(row int) bool {
	cells := s.rows[row]
	for i, cell := range cells[:min(len(cells), len(s.columns))] {
		c, n := s.columns[i], 0
		switch cell = strings.TrimSpace(cell); {
		case isPath(cell):
			n = c.paths
		case isAddress(cell):
			n = c.addresses
		case isHost(cell) && !isKnown(plainName(cell)):
			n = c.hosts - c.addresses
		}
		if 2*n > c.filled || 2*n == c.filled && n > 0 && row > 0 {
			return true
		}
	}
	return false
}

// isURLCell reports whether a cell is a URL, which may have blanks, but no tags as tools print them behind one.
func isURLCell(cell string) bool {
	return plausible(strings.ReplaceAll(cell, " ", "+")) && !strings.Contains(cell, " [") && (!strings.Contains(cell, " (") || strings.Contains(cell, ")"))
}

// learn finds the columns by the first lines. It reports whether this is a table.
func (t *tableParser) learn(lines []string) (bool, error) {
	t.column = noColumns
	rows, hash := t.firstRows(lines)
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
	} else if 3*t.fit < 2*len(rows) && t.sep != "\t" { // no URL has a tab
		return false, nil
	}
	s := t.sample(body)
	ok, err := t.choose(s, "URLs", func(c tally) int { return c.urls })
	if !ok && err == nil {
		switch ok, err = t.choose(s, "hosts", func(c tally) int { return c.hosts }); {
		case !ok:
		case t.opt.Scheme == "":
			err = bad("its column %s has hosts or paths without a scheme: for https://, add --scheme https", t.called(t.column[aURL]))
		case t.guessed && label.MatchString(t.header[t.column[aURL]]):
			err = bad("its first row can have a host or names: if they are names, add --url-field %s; else put names before it, as (printf '%s\\n'; cat FILE) does",
				t.header[t.column[aURL]], t.headerOf(map[int]string{t.column[aURL]: "host"}))
		}
	}
	if ok && err == nil {
		url := t.column[aURL]
		t.labels = t.opt.Scheme != "" && url >= 0 && url < t.width && 2*s.columns[url].labels > s.asked &&
			(t.opt.URLField != "" || t.names != nil && slices.Contains(vocabulary[aHost], t.names[url]))
		t.findAnswers(body)
		err = t.redirects(body)
	}
	for i, c := range s.columns {
		switch {
		case ok || err != nil || t.opt.URLField != "":
		case 2*(c.urls+c.hosts) > s.asked:
			err = bad("its column %s has URLs, but of something else than the pages, by its name: if they are meant, name it with --url-field", t.called(i))
		case 2*c.paths > s.asked:
			err = bad("its column %s has paths without a host: name both, as in --url-field %d --base https://example.org", t.called(i), i+1)
		}
	}
	quoted := countIf(lines, func(text string) bool { return text[0] == '"' })
	if ok && err == nil && t.names == nil && t.column[aURL] == 0 && t.sep != "\t" && t.opt.Format != Table && 2*quoted <= len(lines) {
		ok, err = t.certain(body)
	}
	return ok && err == nil, err
}

// firstRows reads the rows of the first lines, and the names of columns that a comment before them has.
func (t *tableParser) firstRows(lines []string) (rows [][]string, hash []string) {
	for at := 0; at < len(lines); {
		line := lines[at]
		if names, ok := strings.CutPrefix(line, "#fields\t"); ok && t.literal {
			t.zeek = true
			rows = append(rows, strings.Split(names, t.sep))
		} else if line[0] == '#' && !(len(rows) == 0 && strings.HasPrefix(line, "#"+t.sep)) {
			if len(rows) == 0 {
				hash = strings.Split(strings.TrimLeft(line, "# "), t.sep)
			}
		} else if !strings.HasPrefix(line, "sep=") && !isRule(line) {
			n, err := 0, error(nil)
			for end := at + 1; n == 0 && end <= len(lines); end++ {
				n, err = t.next(lines[at:end], false)
			}
			if n == 0 {
				return rows, hash // a quote that is not closed
			}
			if err == nil {
				rows = append(rows, slices.Clone(t.row))
			}
			at += n
			continue
		}
		at++
	}
	return rows, hash
}

// findHeader finds the names of the columns, and returns the rows behind them. Names stand before all rows of data, and are words; a known one
// is enough, and so is the first row of words that is as wide as the rows.
func (t *tableParser) findHeader(rows [][]string, hash []string) [][]string {
	header, all := -1, t.sample(rows)
	for i, cells := range rows[:min(len(rows), maxTitle)] {
		if all.isData(i) || slices.ContainsFunc(cells, func(s string) bool { return plausible(s) || cellURL.MatchString(s) }) {
			break
		}
		if len(cells) < 2 || slices.ContainsFunc(cells, func(s string) bool { return strings.Contains(s, "://") || isPath(s) }) {
			continue
		}
		known, words := false, len(cells) >= t.width && i+1 < len(rows) && header < 0
		for c, cell := range cells {
			name := plainName(cell)
			known = known || isURLName(name) || slices.Contains(vocabulary[aHost], name) || slices.Contains(vocabulary[aPath], name)
			_, err := strconv.ParseFloat(strings.TrimSuffix(cell, "%"), 64)
			words = words && err != nil && (cell != "" || c == len(cells)-1) && ParseTime(cell).IsZero() && !isAddress(cell) && !strings.HasPrefix(cell, "*.")
		}
		if known || words && 2*t.fit > len(rows)-i {
			if header, t.guessed = i, !known && !isAbove(cells, rows[i+1:]); known {
				break
			}
		}
	}
	switch {
	case header >= 0:
		t.setNames(rows[header])
		t.header = slices.Clone(rows[header])
	case len(hash) >= t.width && slices.ContainsFunc(hash, func(s string) bool { return isURLName(plainName(s)) }):
		t.setNames(hash)
	}
	return rows[header+1:]
}

// isAbove reports whether words stand above a column of numbers, times, addresses, paths or URLs: then they are its name.
func isAbove(words []string, rows [][]string) bool {
	for c := range words {
		n := 0
		for _, row := range rows {
			if cell := append(row, make([]string, c+1)...)[c]; numbers.MatchString(cell) || isAddress(cell) || isPath(cell) || isURL(cell) || !ParseTime(cell).IsZero() {
				n++
			}
		}
		if 2*n > len(rows) {
			return true
		}
	}
	return false
}

// setNames sets the names of the columns.
func (t *tableParser) setNames(names []string) {
	t.names = make([]string, max(len(names), t.width))
	for i, name := range names {
		t.names[i] = plainName(name)
	}
	t.width = len(t.names)
}

// cellURL matches a URL that another separator cuts off.
var cellURL = regexp.MustCompile(`[,;|\t"]https?://`)

// label matches what can be a host of a single label, or any word.
var label = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

// isKnown reports whether the vocabulary has a name, other than those of outcomes, which are cells as well.
func isKnown(name string) bool {
	return isURLName(name) || slices.ContainsFunc(vocabulary[:anError], func(names []string) bool { return slices.Contains(names, name) })
}

// isURLName reports whether a column is of URLs by its name.
func isURLName(name string) bool {
	return slices.Contains(vocabulary[aURL], name) || strings.HasSuffix(name, "url") || strings.HasSuffix(name, "uri") || strings.HasPrefix(name, "pagepath")
}

// beside are names of columns with URLs that are not the page's own.
var beside = regexp.MustCompile(`refer(?:r?ers?|ring)(?:url|page)?$|^(?:http|request)?referr?er|image|canoni|canón|kanoni|канони|redirect|weiterleit|cover|thumb|logo|icon|sitemap|avatar|screenshot|photo|picture|poster|` +
	`^parent|^via$|seealso|camefrom|foundat|^el.*index$|реферер|参照元`)

// choose picks the URL column: one in which count finds something in most rows. Messages call that what called says.
func (t *tableParser) choose(s *sample, called string, count func(tally) int) (bool, error) {
	t.findNamed(s.rows)
	if field := t.opt.URLField; field != "" {
		for _, name := range t.opt.urlFields() {
			if t.column[aURL] < 0 || t.column[aURL] >= t.width {
				t.column[aURL] = t.columnOf(name)
				t.guessed = t.guessed && numbers.MatchString(name)
			}
		}
		return t.column[aURL] >= 0 && t.column[aURL] < t.width, nil
	}
	most := func(i int) bool { return i < len(s.columns) && s.columns[i].most() }
	for _, name := range vocabulary[aURL] {
		if i := slices.Index(t.names, name); i >= 0 && (len(s.rows) == 0 || most(i)) {
			t.column[aURL] = i
			return true, t.rival(i, s)
		}
	}
	if t.column[aHost] >= 0 && t.column[aPath] >= 0 {
		return true, nil
	}
	var found []int
	from, to := slices.Index(t.names, "source"), slices.Index(t.names, "destination") // of links: what was found is where they lead
	isGraph := from >= 0 && to >= 0 && most(from) && most(to) && slices.ContainsFunc(t.names, func(name string) bool {
		return name == "type" || strings.HasPrefix(name, "anchor") || strings.HasSuffix(name, "follow")
	}) // without these it can be a map of redirects
	for i, c := range s.columns {
		if 2*count(c) > s.asked && (!isGraph || i != from) && (t.names == nil || !beside.MatchString(t.names[i])) {
			found = append(found, i)
		}
	}
	resolved := func(i int) bool { return s.columns[i].hosts == s.columns[i].addresses && s.columns[i].urls == 0 }
	isAddresses := !slices.ContainsFunc(found, func(i int) bool { return !resolved(i) })
	labels := slices.IndexFunc(s.columns, func(c tally) bool { return 2*c.labels > s.asked })
	if isAddresses { // or there are none: then these are paths of one site, or hosts
		for i, name := range t.names {
			isHosts := slices.Contains(vocabulary[aHost], name)
			if !beside.MatchString(name) && (isURLName(name) || isHosts || slices.Contains(vocabulary[aPath], name)) && !slices.Contains(found, i) && (most(i) || isHosts && i == labels) {
				found = append(found, i)
				isAddresses = isAddresses && !isHosts
			}
		}
	}
	if !isAddresses {
		found = slices.DeleteFunc(found, resolved) // the addresses of the hosts beside them
	} else if len(found) > 0 && labels >= 0 && t.names == nil {
		return false, bad("its column %s has addresses, and column %s can have the names of their hosts: name one with --url-field", t.called(found[0]), t.called(labels))
	}
	switch {
	case len(found) == 0:
		return false, nil
	case len(found) > 1:
		return false, bad("its columns %s and %s both have %s: name one with --url-field", t.called(found[0]), t.called(found[1]), called)
	case t.halves(s, found[0]) != "":
		return false, bad("its columns have hosts and paths apart: name them in its first line, as (printf '%s\\n'; cat FILE) does, and add --scheme https", t.halves(s, found[0]))
	case t.isLog(s, found[0]):
		return false, bad("its column %s has URLs, but another has paths, as logs and maps of redirects have, so they may be referrers or targets: name the column with --url-field %d", t.called(found[0]), found[0]+1)
	}
	if t.column[aURL] = found[0]; isGraph && found[0] == to {
		t.column[aReferrer], t.links = from, true
	}
	return true, nil
}

// own are names that can only mean the URL of the row itself. Others, such as page and link, can stand side by side.
var own = []string{"url", "matchedat", "originalurl", "originaluri", "original", "fullurl", "requesturl", "permalink", "loc", "address", "urladdress", "csuri"}

// rival returns an error if another column could equally be the URL.
func (t *tableParser) rival(column int, s *sample) error {
	for i, c := range s.columns {
		if i != column && !slices.Contains(own, t.names[column]) && isURLName(t.names[i]) && !beside.MatchString(t.names[i]) && 2*c.urls > s.asked {
			return bad("its columns %s and %s both have URLs: name one with --url-field", t.called(min(i, column)), t.called(max(i, column)))
		}
	}
	return nil
}

// halves returns the header under which a column of hosts and one of paths are read as one URL, if one of them was chosen; else "".
// Addresses beside paths belong to clients.
func (t *tableParser) halves(s *sample, chosen int) string {
	host, path := -1, -1
	for i, c := range s.columns {
		if t.names != nil && beside.MatchString(t.names[i]) {
			continue
		}
		if 2*(c.hosts-c.addresses) > s.asked {
			host = i
		} else if 2*c.paths > s.asked {
			path = i
		}
	}
	if host < 0 || path < 0 || chosen != host && chosen != path {
		return ""
	}
	return t.headerOf(map[int]string{host: "host", path: "path"})
}

// headerOf returns a header that names some columns, as printf takes it.
func (t *tableParser) headerOf(named map[int]string) string {
	names := make([]string, t.width)
	for i := range names {
		names[i] = cmp.Or(named[i], "x")
	}
	return strings.ReplaceAll(strings.Join(names, t.sep), "\t", `\t`)
}

// isLog reports whether another column has paths: then those are what was asked for, and the URL may be a referrer. A name can say that
// the URL is the page's.
func (t *tableParser) isLog(s *sample, url int) bool {
	for i, c := range s.columns {
		named := t.names != nil && (isURLName(t.names[url]) && !isURLName(t.names[i]) || slices.Contains(vocabulary[aHost], t.names[url]))
		if i != url && !named && 2*c.requests > len(s.rows) {
			return true
		}
	}
	return false
}

// findAnswers finds the columns that tell answers from failures, by their names and by their cells; one that is named a status is better
// than all that only look like one.
func (t *tableParser) findAnswers(body [][]string) {
	t.answers, t.column[aStatus] = nil, -1
	unnamed := len(vocabulary[aStatus])
	rank := unnamed
	for column := range t.width {
		if column == t.column[aURL] {
			continue
		}
		name, cells := "", []string(nil)
		if t.names != nil {
			name = t.names[column]
		}
		for _, row := range body {
			if column < len(row) && t.column[aURL] < len(row) {
				cells = append(cells, strings.TrimSpace(row[column]))
			}
		}
		answer := answerColumn{at: column, says: verdictOf}
		says := flagOf(name)
		if column < len(t.header) {
			says = flagOf(squeezed(t.header[column]))
		}
		switch is, strict := judge(name, cells); {
		case says != nil:
			answer.says = says
		case is == worked:
			answer.strict = strict
		case is == silent && !counted.MatchString(name):
			answer.late, answer.says = true, lateOf
		case is == answered:
			r := slices.Index(vocabulary[aStatus], name)
			if r < 0 {
				r = unnamed
			}
			if r < rank {
				t.answers = slices.DeleteFunc(t.answers, func(a answerColumn) bool { return a.strict || a.at == t.column[aStatus] })
			} else if r > rank || r < unnamed {
				continue
			}
			rank, t.column[aStatus], answer.strict = r, column, strict
		default:
			continue
		}
		t.answers = append(t.answers, answer)
	}
}

// findNamed finds the other columns by their names. Columns of times and schemes must also contain some.
func (t *tableParser) findNamed(body [][]string) {
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
		for i, cell := range cells[:min(url, len(cells))] {
			text = text || i != status && strings.Trim(cell, " -0123456789") != ""
		}
	}
	if !text || t.names != nil && isURLName(t.names[url]) && !slices.ContainsFunc(t.names, func(s string) bool { return s != t.names[url] && isURLName(s) }) {
		return nil
	}
	return bad("its rows are redirects, and the URLs in column %s can be their targets: name the column with --url-field %d", t.called(url), url+1)
}

// certain reports whether lines that begin with a URL are rows, not URLs with separators in them: false if they are URLs, an error if they can
// be either. That is so unless what stands behind the URL in most rows has something that cells have and URLs don't, such as nothing, a status,
// a date or a quote: an id, a number and a word are of URLs as well.
func (t *tableParser) certain(body [][]string) (bool, error) {
	certain, parameters := 0, 0
	for _, cells := range body {
		rest := cells[1:]
		_, host, full := strings.Cut(cells[0], "://")
		if !full {
			host = cells[0]
		}
		if t.sep == ";" && !slices.ContainsFunc(rest, func(s string) bool { return !parameter.MatchString(s) }) {
			parameters++ // of the path, as in ";id=1"
		}
		tail := len(rest) > 0 && (strings.ContainsAny(rest[len(rest)-1], "=&?") || isFileName(rest[len(rest)-1]))
		if t.titles || strings.HasSuffix(host, " ") || !strings.ContainsAny(host, "/?#") || slices.ContainsFunc(rest, func(s string) bool { // no host has a separator
			return strings.ContainsAny(s, " \"%<>") || (cell.MatchString(s) || successes.MatchString(s) || failures.MatchString(s)) && !tail
		}) {
			certain++
		}
	}
	if n := len(body); parameters == n && n > 0 {
		return false, nil
	} else if 2*certain < n {
		return false, bad("its lines are URLs with %q in them, or a table: choose with %s list or %[2]s table", t.sep, t.opt.Flag)
	}
	return true, nil
}

// parameter matches a parameter of a path.
var parameter = regexp.MustCompile(`^[\w.-]+=`)

// isFileName reports whether a text ends as the path of a URL does: in a path, or in a file's extension.
func isFileName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if strings.Contains(s, "/") && !slices.Contains([]string{"text", "application", "image", "audio", "video", "font"}, s[:strings.IndexByte(s, '/')]) {
		return true
	}
	return i >= 0 && len(s)-i > 2 && len(s)-i < 7 && strings.Trim(s[i+1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

var errOpenQuote = bad("got a quote that is not closed")

// next cuts the row that begins with the first of some lines into t.row. It returns how many lines that takes, 0 if the row goes on behind
// them; or, with an error, how many can't be read.
//
// A cell can have lines that look like rows, and a quote can stand for itself, as in a title of 5" that nobody quoted. So a quote is waited
// for as long as the text keeps to RFC 4180, and ends a row if that has as many cells as the table. Otherwise a line that is a row by itself
// says that the quote before it was none.
func (t *tableParser) next(lines []string, end bool) (n int, err error) {
	last := lines[len(lines)-1]
	if t.size += len(last) + 1; len(lines) == 1 {
		t.size = 0
	}
	waits := t.size < maxRow && !end
	if len(lines) > 1 && waits && !t.closesQuote(last) { // or a long cell would be split again with each of its lines
		return 0, nil
	}
	text := strings.Join(lines, "\n")
	open, strict := t.split(text)
	waits = waits && open
	if len(lines) > 1 && !(strict && (waits || !open && len(t.row) == t.width)) {
		if i := slices.IndexFunc(lines[1:], t.isRow); i >= 0 {
			return 1 + i, errOpenQuote
		}
		t.split(text)
	}
	switch {
	case waits:
		return 0, nil
	case open:
		return len(lines), errOpenQuote
	}
	return len(lines), nil
}

// closesQuote reports whether a line, which begins inside a quoted cell, has the end of that cell.
func (t *tableParser) closesQuote(line string) bool {
	if t.backslash {
		line = strings.ReplaceAll(line, `\"`, "")
	}
	return strings.Contains(strings.ReplaceAll(line, `""`, ""), `"`)
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
	if t.backslash {
		text = strings.ReplaceAll(text, `\"`, `""`)
	}
	t.row, strict = t.row[:0], true
	for more := true; more; {
		if t.sep != "\t" {
			text = strings.TrimLeft(text, " \t")
		}
		cell := ""
		if t.literal || !strings.HasPrefix(text, `"`) {
			cell, text, more = strings.Cut(text, t.sep)
			if more && t.titles {
				t.row, cell, more = append(t.row, cell), text, false
			}
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

// lines reads the row that begins with the first of some lines, of which all but the last were there before. It returns what next does.
func (t *tableParser) lines(lines []string, end bool, emit func(Record)) (n int, err error) {
	if text := lines[0]; len(lines) == 1 {
		names, isFields := strings.CutPrefix(text, "#fields\t")
		switch {
		case strings.TrimSpace(text) == "":
			t.gap = true
			return 1, isBlankLine
		case t.zeek && isFields:
			t.rename(strings.Split(names, "\t"))
			return 1, isHeader
		case text[0] == '#' && (t.header == nil || !strings.HasPrefix(t.header[0], "#")), isRule(text):
			return 1, isComment
		case strings.HasPrefix(text, "sep=") && len(text) < len("sep=,;"):
			return 1, isHeader
		}
	}
	if n, err = t.next(lines, end); n > 0 && err == nil {
		err = t.read(t.row, emit)
	}
	return n, err
}

// read reads the cells of a row.
func (t *tableParser) read(cells []string, emit func(Record)) error {
	if same := t.header != nil && slices.Equal(cells, t.header); same || t.titled {
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
		if isKnown(name) {
			known++
		}
	}
	return known > 1
}

// areWords reports whether all cells are short texts.
func (t *tableParser) areWords(cells []string) bool {
	return len(cells) > 1 && !slices.ContainsFunc(cells, func(cell string) bool {
		return strings.TrimSpace(cell) == "" || len(cell) > 60 || numbers.MatchString(cell) || strings.ContainsAny(cell, "/:@") || isHost(cell)
	})
}

// rename takes the names of another table for those that follow, and reports whether one is of the URL. Without that, or without a status that
// the rows before had, they are refused.
func (t *tableParser) rename(names []string) bool {
	had := t.column[aStatus] >= 0
	t.header, t.fields, t.width = slices.Clone(names), nil, len(names)
	t.setNames(names)
	t.column = noColumns
	_, _ = t.choose(&sample{}, "", nil)
	if t.findAnswers(nil); had && t.column[aStatus] < 0 {
		t.column[aURL] = -1
	}
	return t.column[aURL] >= 0 && t.column[aURL] < t.width
}

// isRule reports whether a line is drawn between the rows of a table that is printed.
func isRule(text string) bool {
	const drawn = "-+=|: ─│┌┬┐├┼┤└┴┘═║"
	return len(text) > 4 && strings.Trim(text, drawn) == "" && (strings.Contains(text, "--") || strings.Contains(text, "──"))
}

// record makes a record of a row.
func (t *tableParser) record(cells []string) (r Record, err error) {
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
	short := t.names == nil && t.sep != "\t" && len(cells) < t.width && len(cells) > column+1 // the cell behind the URL can be its end
	if len(cells) > t.width && !t.isPadded(cells) || short && !t.hasCode(cells) {             // of a separator that nobody quoted
		return Record{}, bad("got %d columns; want %d", len(cells), t.width)
	}
	if len(cells) == 1 && t.width > 1 && strings.ContainsAny(cells[0], "\t,;|") { // of another table, or of one that nobody quoted
		return Record{}, bad("got %q where %d cells are parted by %q", cells[0], t.width, t.sep)
	}
	r = Record{URL: get(aURL), Kind: Listed, Time: ParseTime(get(aTime)), Via: get(aReferrer), Redirect: get(aRedirect), Digest: bareDigest(get(aDigest))}
	target := get(aPath)
	if strings.HasPrefix(r.URL, "/") {
		target = r.URL
	}
	switch {
	case strings.IndexByte(r.URL, ' ') > 0 && isTacked(r.URL), strings.IndexByte(r.URL, '"') > 0 && quotedCell.MatchString(r.URL):
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
		if r.URL, _ = compose(host, target, get, t.opt); strings.HasPrefix(r.URL, DefaultBase) {
			return r, errHostless
		}
	case isHost(r.URL) || t.labels && label.MatchString(r.URL):
		if t.opt.Scheme == "" {
			return r, errNoScheme
		}
		host, alone := bracket(r.URL)
		r.URL = t.opt.Scheme + "://" + host
		if port := get(aPort); port != "" && alone {
			r.URL = site(cmp.Or(get(aScheme), t.opt.Scheme), host, port)
		}
	case column < 0 && t.column[aPath] < 0:
		return r, bad("got a row of another table, whose header names no URL, or no status where the one before does")
	case r.URL == "" || !hasScheme(r.URL):
		return r, bad("got %q in the column of URLs", r.URL)
	}
	if len(t.opt.Fields) > 0 {
		r.Fields = t.values(cells)
	}
	code, lost, failure := "", false, false
	for _, a := range t.answers {
		cell := ""
		if a.at < len(cells) {
			cell = strings.TrimSpace(cells[a.at])
		}
		v, c, _ := a.says(cell)
		if a.late && t.column[aStatus] >= 0 {
			c = ""
		}
		failure = failure || v == failed
		code, lost = max(code, c), lost || failure || a.strict && v != answered && v != worked
	}
	switch {
	case code != "":
		r.Kind = Fetch
		r.answered(code)
	case lost || t.links:
		r.Kind, r.silent = Link, !failure && !t.links
	}
	return r, nil
}

// isPadded reports whether the cells beyond the last column are empty, as spreadsheets write them. The separator could be of
// the URL, too, and have moved the cells behind it, unless there are none or the status is where it should be.
func (t *tableParser) isPadded(cells []string) bool {
	return strings.TrimSpace(strings.Join(cells[t.width:], "")) == "" && (t.column[aURL] == t.width-1 || t.hasCode(cells))
}

// hasCode reports whether there is a status where it should be, behind the URL.
func (t *tableParser) hasCode(cells []string) bool {
	status := t.column[aStatus]
	return status > t.column[aURL] && status < len(cells) && slices.Contains(codes, strings.TrimSpace(cells[status]))
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

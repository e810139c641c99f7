package logs

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Lists come as people make them: one URL a line, with a header, with colours of a terminal, with the status that a tool
// put behind each URL, with the count that "uniq -c" put before, or without a scheme. A canonicalizer takes most of
// that as a part of the URL. So what stands around a URL is cut where most of the first lines have something
// there, and is refused in the few lines of other lists.

var (
	errNUL      = errors.New("got a NUL in a line of text")
	errNoScheme = bad("got no scheme; for https://, add --scheme https")
	errCells    = errors.New("got cells in quotes, as in a table or in JSON; a file is read in one format")
	errNote     = errors.New("got a URL and a note behind it; cut the notes off: sed 's/[[:blank:]]#.*//'")
	errTacked   = errors.New("got a URL and something behind it; a URL has no blank; take whole lines with the format list")
)

// byteOrderMark may begin a text file.
const byteOrderMark = "\xef\xbb\xbf"

// colours are the sequences by which terminals set them, and link a text.
var colours = regexp.MustCompile("\x1b(?:\\[[0-9;]*[A-Za-z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")

// headers are what the first line of a list may call it.
var headers = append([]string{"urls", "links"}, vocabulary[aURL]...)

// isHeaderOfList reports whether a first line is the name of a column.
func isHeaderOfList(line string) bool {
	return slices.Contains(headers, plainName(line))
}

// headerOfList returns which line names the column, -1 for none. What stands before it is a title, and no URL.
func headerOfList(lines []string) int {
	i := slices.IndexFunc(lines[:min(len(lines), maxTitle)], func(line string) bool {
		text := strings.TrimSpace(line)
		return isHeaderOfList(line) || text[0] != '#' && (isHost(text) || cutLine(text, "", place{}).url != "")
	})
	if i < 0 || !isHeaderOfList(lines[i]) {
		return -1
	}
	return i
}

// list reads what is no format of a program: plain lines, or lines with something around the URL.
func (d *detector) list() (*reading, error) {
	header := headerOfList(d.lines)
	lines := d.lines[header+1:]
	p := &listParser{scheme: d.opt.Scheme, titled: header >= 0}
	isPlace := func(text string) bool {
		return isPath(text) && !strings.HasPrefix(text, "//") && !strings.ContainsAny(text, " \t")
	}
	if paths := countIf(lines, isPlace); 2*paths > len(lines) {
		return nil, d.unreadable("%d of its first %d lines are paths, such as %.100q: put their host before them, as in sed 's|^/|https://example.org/|'", paths, len(lines), lines[0])
	}
	var err error
	if p.status, err = statusPlace(lines); err != nil {
		return nil, d.unreadable("%v", err)
	}
	plain, cut, hosts, asked, quoted := 0, 0, 0, 0, 0
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if text[0] == '#' {
			continue
		}
		asked++
		c, host := cutLine(text, d.opt.Scheme, place{}), isHost(strings.TrimPrefix(text, "//"))
		switch {
		case (isURL(strings.ReplaceAll(text, " ", "+")) || ofNoWeb.MatchString(text)) && !isTacked(text):
			plain++
		case host:
			hosts++
		case c.url != "":
			if cut++; slices.Equal(c.what, onlyQuotes) {
				quoted++
			}
		}
	}
	if asked == 0 {
		return &reading{format: List, end: d.end}, nil
	}
	most := func(n int) bool { return 2*n >= asked }
	some := func(n, of int) bool { return n > 0 && n*of >= plain+cut } // or a share of those with URLs
	switch last := lines[len(lines)-1]; {
	case some(countIf(lines, isRow), 3) && plain > 0:
		return nil, d.unreadable("its lines have URLs and more, as rows of a table do, but not the same number of cells: choose with %s list or %s table", d.opt.Flag, d.opt.Flag)
	case some(countIf(lines, isAnswer), 3):
		return nil, d.unreadable("its lines with URLs have others behind them that say what was answered (such as %.100q); have the program write one line or JSON", last)
	case some(countIf(lines, isWorded), 2), plain > 0 && inColumns(lines):
		return nil, d.unreadable("its lines have a URL and words behind it, or URLs with blanks in them (such as %.100q): for whole lines, choose %s list", last, d.opt.Flag)
	case hosts > 0 && d.opt.Scheme != "" && most(plain+cut+hosts):
		return &reading{format: List, parser: p, end: d.end, sure: true}, nil
	case most(plain) && plain >= cut && !d.coloured && header <= 0 && quoted == 0:
		return &reading{format: List, end: d.end, sure: plain == asked}, nil
	case most(plain + cut):
		p.plain = most(plain) && plain >= cut
		return &reading{format: List, parser: p, end: d.end}, nil
	case most(plain + cut + hosts):
		return nil, d.unreadable("%d of its first %d lines are hosts or paths without a scheme, such as %.100q: for https://, add --scheme https", hosts, asked, last)
	}
	hint := ""
	if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "://") }) {
		hint = `; if it is text with URLs in it, take them out: grep -oE 'https?://[^ )"<>]+' FILE | firstseen …`
	}
	return nil, d.unreadable("it is none of the known formats, and no list with one URL a line (line 1 is %.100q): name the format with %s%s", d.lines[0], d.opt.Flag, hint)
}

// countIf counts the lines that are something, without the blanks around them; comments are nothing.
func countIf(lines []string, is func(text string) bool) (n int) {
	for _, line := range lines {
		if text := strings.TrimSpace(line); text[0] != '#' && is(text) {
			n++
		}
	}
	return n
}

// named reads a list that the caller asked for: whole lines, unless a tool appended something to most of them.
func (d *detector) named() *reading {
	how := &reading{format: List, end: d.end}
	if 2*countIf(d.lines, isTacked) > len(d.lines) {
		p := &listParser{titled: headerOfList(d.lines) >= 0}
		p.status, _ = statusPlace(d.lines) // without one, there are the URLs
		how.parser = p
	}
	return how
}

// ofNoWeb matches the links of pages that lead to no page. They cost their line, not the file.
var ofNoWeb = regexp.MustCompile(`^(?i:mailto|javascript|data|tel|sms|callto|skype|whatsapp|blob|about|file|magnet|android-app|intent):\S`)

// maxTitle is how many lines may stand before the header.
const maxTitle = 30

// hasScheme reports whether a text begins with the scheme of a URL, such as http: or mailto:.
func hasScheme(s string) bool {
	i := strings.IndexByte(s, ':')
	return i > 0 && i < 12 && i+1 < len(s) && strings.Trim(strings.ToLower(s[:i]), "abcdefghijklmnopqrstuvwxyz+-.") == "" && s[i+1] != ' '
}

// plain reads a list without cutting its lines: its blocks are handed on as they are.
func (s *sink) plain(f *File, how *reading) error {
	end := how.end
	if s.opt.Zero && bytes.IndexByte(f.Peek(binaryBytes), 0) >= 0 {
		end = 0
	}
	s.left = true // the caller of Each finds out whether the lines are URLs
	for block, err := range blocks(f, end) {
		if err != nil {
			return fmt.Errorf("cannot read %s to its end: %w", f.Name, err)
		}
		b := &Batch{Format: List, first: block.first, end: end, obeyed: s.opt.Format == List, block: block}
		if b.Counts.NotUTF8 = !utf8.Valid(block.text); block.tooLong {
			b.Counts.Units = 1
			b.refuse(Refusal{Line: block.first, Text: string(block.text[:200]), Err: bad("got a line of more than %d bytes", len(block.text))})
		} else if b.Text = block.text; block.first == 1 {
			b.Text = bytes.TrimPrefix(b.Text, []byte(byteOrderMark))
			if line, rest, ok := bytes.Cut(b.Text, []byte{end}); ok && isHeaderOfList(string(line)) {
				b.Text, b.first = rest, 2
				b.Counts.Units, b.Counts.Headers = 1, 1
			}
		}
		if !s.yield(b, nil) {
			s.stopped = true
			return nil
		}
	}
	return nil
}

// listParser reads lists whose lines have something around the URL, or no scheme.
type listParser struct {
	atOnce

	scheme string
	cut    func(what string) // counts what was cut
	titled bool              // the header is still to come; lines before it are a title
	plain  bool              // most lines have only a URL, so nothing but quotes is cut
	status place             // where lines have a status
}

func (p *listParser) line(text string, emit func(Record)) error {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return isBlankLine
	case text[0] == '#':
		return isComment
	case p.titled:
		p.titled = !isHeaderOfList(text)
		return isHeader
	}
	c := cutLine(text, p.scheme, p.status)
	if p.plain && !slices.Equal(c.what, onlyQuotes) {
		url, status, err := plainLine([]byte(text))
		if err != nil {
			return err
		}
		if c = (cutting{url: string(url)}); status != 0 {
			c.status = strconv.Itoa(status)
		}
	}
	if c.url == "" {
		if p.scheme == "" && isHost(strings.TrimPrefix(text, "//")) {
			return errNoScheme
		}
		return bad("%s", c.why)
	}
	r := Record{URL: c.url, Kind: Listed, Redirect: c.target}
	switch {
	case c.status != "":
		r.Kind = Fetch
		r.answered(c.status)
	case c.failed:
		r.Kind = Link
	}
	if c.target != "" && r.Status/100 != 3 {
		return bad("got two URLs in a line")
	}
	if p.cut != nil {
		for _, what := range c.what {
			p.cut(what)
		}
	}
	emit(r)
	return nil
}

// A place is where a token stands in a line: so many from its begin, before or behind the URL, or from its end.
type place struct {
	from byte // 'b', 'u' or 'e'; 0 for nowhere
	n    int
}

// token returns the token in a place, and its index.
func (p place) token(found []string, url int) (string, int) {
	i := -1
	switch p.from {
	case 'b':
		if i = p.n; i >= url {
			i = -1
		}
	case 'u':
		i = url + p.n
	case 'e':
		if i = len(found) - 1 - p.n; i <= url {
			i = -1
		}
	}
	if i < 0 || i >= len(found) || i == url {
		return "", -1
	}
	return found[i], i
}

// statusPlace finds the place in which lines have a status: where all tokens are codes. It returns an error if two places have
// different ones.
func statusPlace(lines []string) (best place, err error) {
	var rows [][]string
	var urls []int
	for _, line := range lines {
		found, _ := tokens(line)
		if url := slices.IndexFunc(found, func(t string) bool { return plausible(unquote(t)) }); url >= 0 && len(found) > 1 && found[0][0] != '#' && cutLine(strings.TrimSpace(line), "", place{}).url != "" {
			rows, urls = append(rows, found), append(urls, url)
		}
	}
	var first []int
	for _, from := range []byte("ube") {
		for n := -6; n <= 6; n++ {
			p, some := place{from, n}, false
			var at []int
			for i, row := range rows {
				cell, index := p.token(row, urls[i])
				if at = append(at, index); index < 0 {
					continue
				}
				v, code, _ := verdictOf(cell)
				if _, text, words := strings.Cut(strings.Trim(cell, "[]()"), " "); v == answered && words && cell[0] == '[' && !strings.EqualFold(text, http.StatusText(int(number(code)))) {
					v = aWord // a title
				}
				if v == aWord || v == aNumber || v == answered && !slices.Contains(codes, code) {
					at = nil
					break
				}
				some = some || v == answered || cell == "000" // curl's
			}
			switch {
			case at == nil || !some:
			case best.from == 0:
				best, first = p, at
			default:
				for i, row := range rows {
					if a, b := first[i], at[i]; a != b && a >= 0 && b >= 0 && row[a] != row[b] {
						return place{}, bad("its lines have two numbers that can be a status (such as %.100q): leave one out, or have the tool write JSON", strings.Join(row, " "))
					}
				}
			}
		}
	}
	return best, nil
}

// onlyQuotes is the cut of a line whose URL was quoted.
var onlyQuotes = []string{"quotes"}

// cutting is the URL of a line, and what stood around it.
type cutting struct {
	url, status string
	failed      bool   // there is a word for no answer
	target      string // behind an arrow
	what        []string
	why         string // there is no URL
}

// isRow reports whether a URL goes on as a row of a table does, behind a separator: with a cell that no part of a URL
// looks like. Commas, semicolons, numbers and names alone are of URLs as well, and so is a bar in a query.
func isRow(text string) bool {
	if !isURL(strings.ReplaceAll(text, " ", "+")) {
		return strings.ContainsAny(text, "|\"")
	}
	if strings.Contains(text, `"`) {
		return true
	}
	path, _, _ := strings.Cut(text, "?")
	_, rest, _ := strings.Cut(text, "://")
	cells := strings.FieldsFunc(strings.NewReplacer(",,", ", ,", ";;", "; ;").Replace(rest), func(r rune) bool { return strings.ContainsRune(",;|\t", r) })
	last := rest[len(rest)-1]
	return strings.Contains(path, "|") || last == ',' || last == ';' || last == '|' ||
		len(cells) > 1 && slices.ContainsFunc(cells[1:], cell.MatchString) || len(cells) > 2 && digits.MatchString(cells[len(cells)-1])
}

// quotedCell matches a cell of a table behind another one.
var quotedCell = regexp.MustCompile(`[,;|]"`)

// cell matches what tables have beside a URL: nothing, statuses, dates, shares, types, words, a second URL. digits matches numbers,
// which also end URLs.
var (
	cell   = regexp.MustCompile(`^(?: *|[1-5]\d\d|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{4}.*|[\d.,]+%|\d+[.,]\d+|(?:text|image|application|audio|video|font)/[\w.+-]+|https?://.*|.*[\w.)] +\S.*)$`)
	digits = regexp.MustCompile(`^\d[\d.]*$`)
)

// isWorded reports whether a line is a URL and then words, or a URL with blanks in it: those end like a path or a query does.
func isWorded(text string) bool {
	i := strings.IndexByte(text, ' ')
	if i < 0 || !plausible(text[:i]) || isTacked(text) {
		return false
	}
	last := strings.TrimRight(text[strings.LastIndexByte(text, ' ')+1:], ".!?")
	return !strings.ContainsAny(last, "./?=&%_") || strings.ContainsAny(text[i:], "[]")
}

// inColumns reports whether all lines have as many words, and more than one: URLs with blanks in them vary, and one word more can be the name
// under which a page is kept.
func inColumns(lines []string) bool {
	n := len(strings.Fields(lines[0]))
	return n > 1 && len(lines) > 1 && countIf(lines, func(text string) bool { return len(strings.Fields(text)) == n }) == len(lines)
}

// isAnswer reports whether a line is what a program prints of an answer.
func isAnswer(text string) bool {
	m := behindArrows.FindStringSubmatch(text)
	return m != nil && coded.MatchString(m[1])
}

// Tokens that can stand around the URL of a line: an address of IPv6 with what follows it, text in brackets, which may nest once, bullets, numbers, dates, sizes, methods, media types.
var (
	token     = regexp.MustCompile(`\[[\da-fA-F.]*:[\da-fA-F:.]*:[\da-fA-F:.]*\][:/?#]\S+|[\w-]*(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\[[^\]]*\])+,?|\([^)]*\)|\S+`)
	bracketed = regexp.MustCompile(`^(?:[\[(].*[\])]|[\w-]+\[.*\]),?$`)
	numeric   = regexp.MustCompile(`^(?:[\d][\d.,:/%+TZ-]*[A-Za-z]{0,3}[.):]?|[+-]\d{4}|UTC|GMT|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec),?)$`)
	tag       = regexp.MustCompile(`^(?:[-*+•|:=>]+|[A-Za-z][\w-]*:|GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|(?:text|image|application|audio|video|font|warc)/[\w.+-]+)$`)
	// behindArrows matches answers, as mitmdump and curl print them behind a request.
	behindArrows = regexp.MustCompile(`^(?:<+|->) *(?:HTTP/[\d.]+ )?(\d{3} .*)$`)
	// badTag is what tools write in brackets before a URL that failed.
	badTag  = regexp.MustCompile(`^(?i:fail(?:ed|ure)?|err(?:or)?|dead|broken|down|time[d -]?out|refused|unreachable|blocked|skipped|not[ _-]?found|[✖✗✘❌⛔]|-)$`)
	arrow   = regexp.MustCompile(`^(?:=>|-+>)$`)
	foreign = regexp.MustCompile(`(?i)refer|source|parent|from|redirect|location|base`)
)

// opening matches the begin of a bracket.
var opening = regexp.MustCompile(`^(?:[\w-]*\[|\()`)

// tokens splits a text, up to a bracket that is not closed: each such one costs a look at the whole rest.
func tokens(text string) (found []string, ok bool) {
	for {
		at := token.FindStringIndex(text)
		if at == nil {
			return found, true
		}
		t := text[at[0]:at[1]]
		if opening.MatchString(t) && !bracketed.MatchString(t) && !isHost(t) {
			return found, false
		}
		found, text = append(found, t), text[at[1]:]
	}
}

// cutLine returns the one URL of a line. Words around it are no decoration but prose, or a log; and of two URLs
// either could be meant.
func cutLine(text, scheme string, status place) (c cutting) {
	before := true
	found, ok := tokens(text)
	if !ok {
		return cutting{why: "got a bracket that is not closed"}
	}
	if t, at := status.token(found, slices.IndexFunc(found, func(t string) bool { return plausible(unquote(t)) })); at >= 0 {
		var v verdict
		v, c.status, _ = verdictOf(t)
		c.failed = v == silent || v == failed
	}
	hosts := 0 // or URLs
	for _, t := range found {
		if bare := unquote(t); scheme != "" && (plausible(bare) || isHost(strings.TrimPrefix(bare, "//"))) {
			hosts++
		}
	}
	for _, t := range found {
		bare := unquote(t)
		if len(found) > 1 && isURL(bare) {
			bare = strings.TrimSuffix(bare, ":") // "URL: 404"
		}
		host := strings.TrimPrefix(bare, "//")
		isFull := plausible(bare) || len(t) == len(text) && hasScheme(bare) && strings.Contains(bare, "//")
		switch {
		case c.url != "" && arrow.MatchString(t) && plausible(found[len(found)-1]): // "-> REDIRECTS TO: URL"
			c.target = found[len(found)-1]
			c.what = append(c.what, "the target of a redirect")
			return c
		case isFull || scheme != "" && c.url == "" && isHost(host) && (hosts == 1 || !isNumber(host)):
			if c.url != "" {
				return cutting{why: "got two URLs in a line"}
			}
			if strings.ContainsAny(bare, `"<>`) {
				return cutting{why: "got quotes in a URL"}
			}
			if c.url, before = bare, false; !isFull {
				c.url, _ = withScheme(host, scheme)
			}
			if bare != t {
				c.what = append(c.what, "quotes")
			}
		case bracketed.MatchString(t), numeric.MatchString(t), isAddress(t), tag.MatchString(t) && !foreign.MatchString(t):
			what := "text behind the URL"
			switch {
			case before && !numeric.MatchString(t):
				what = "tags before the URL"
			case before:
				what = "numbers before the URL"
			}
			word := strings.Trim(t, "[]():,")
			v, code, explicit := verdictOf(t)
			if explicit && c.status == "" {
				c.status = code
			}
			if t[0] == '[' && (badTag.MatchString(word) || before && t == "[ ]") || // a box that was not ticked
				!before && v == failed && !numeric.MatchString(word) && !strings.Contains(word, " ") {
				c.failed = true
			}
			if !slices.Contains(c.what, what) {
				c.what = append(c.what, what)
			}
		default:
			return cutting{why: "got text around the URL that is no count, date or tag"}
		}
	}
	switch {
	case c.url == "" && hosts > 1:
		c.why = "got two hosts in a line"
	case c.url == "":
		c.why = "got no absolute URL"
	}
	return c
}

// isNumber reports whether a host may be a number that a tool put beside another host: an address, or digits with a unit, as 163.com looks.
func isNumber(host string) bool {
	return host[0] == '[' || isAddress(host) || numeric.MatchString(host)
}

// unquote removes the quotes of a string literal, and a comma or semicolon after them.
func unquote(s string) string {
	t := strings.TrimRight(s, ",;")
	if n := len(t); n > 2 && (t[0] == t[n-1] && strings.IndexByte("\"'`", t[0]) >= 0 && strings.IndexByte(t[1:n-1], t[0]) < 0 || t[0] == '<' && t[n-1] == '>') {
		return t[1 : n-1]
	}
	return s
}

// cutStatus returns the URL of a line that has a URL and a status and no more; code is "" for other lines. In a list most of whose
// lines are plain, these few say what was answered.
func cutStatus(line []byte) (url []byte, code string) {
	found := bytes.Fields(line)
	if len(found) != 2 {
		return nil, ""
	}
	url, beside := bytes.TrimSuffix(found[0], []byte(":")), string(found[1])
	if !plausible(string(url)) {
		url, beside = found[1], string(found[0])
	}
	if m := coded.FindStringSubmatch(beside); m != nil && slices.Contains(codes, m[2]) && plausible(string(url)) {
		return line[bytes.Index(line, url):][:len(url)], m[2] // Fields cuts the capacity, by which callers find the place
	}
	return nil, ""
}

// isTacked reports whether a line is a URL and then words that a tool put there, and not a URL with a raw blank.
func isTacked(text string) bool {
	text = strings.TrimSpace(text)
	i := strings.IndexAny(text, " \t")
	if i < 0 || !plausible(text[:i]) {
		return false
	}
	tail := text[i:]
	if tail[0] == '\t' || strings.HasPrefix(tail, " /") || strings.HasPrefix(tail, " -> ") || text[i-1] == ':' {
		return true
	}
	found, ok := tokens(tail)
	for _, t := range found {
		if !bracketed.MatchString(t) && !numeric.MatchString(t) && !tag.MatchString(t) && !isURL(t) {
			return false
		}
	}
	return ok
}

package logs

import (
	"regexp"
	"slices"
	"strings"
)

// Whether a server answered, and how, is told in a hundred ways: by a code alone or with words around it, by a word, a mark, or
// a column of errors, under names in any language. Names alone were not enough: of seventy headers for a status, people found
// forty-seven that no list had, and each let failed fetches pass as seen. So cells are judged by one function, wherever they
// stand: in the columns of tables, in the fields of objects, in what stands around the URLs of lists. HTTP codes beside a URL
// are its status, whatever they are called; and where some rows have one, a row without had no answer.

// A verdict is what a cell says about the answer of a server.
type verdict int

// The verdicts.
const (
	aWord    verdict = iota // something else
	aNumber                 // a number that is no code
	silent                  // nothing, or a sign for it
	answered                // a code
	worked                  // a word for success
	failed                  // a word for failure, or a number for it
)

var (
	// coded matches a code alone, and with what programs put around it: =404, "HTTP/1.1 404 Not Found", [code-404], (Status: 404).
	coded = regexp.MustCompile(`^[\[("'=]*(?i:((?:http(?:/[\d.]+)?|status|code)[-:= ]*)*)([1-5]\d\d)(?:[.,]0+)?(?:["')\]]+|[|,;:]? .*|\|.*|(?:,[1-5]\d\d)+\])?$`)
	// closing matches words with a code behind them: Not found (404), Redirect 301, or Squid's TCP_MISS/200.
	closing = regexp.MustCompile(`^(?:\D*[^\s\d(]\D* ?\(([1-5]\d\d)\)|(?:(?i:redirect(?:ed)?|error|failed|moved|ok)[ :]+|(?:TCP|UDP)_[A-Z_]+/)([1-5]\d\d))$`)
	// noCode matches what clients write for a status when there is none, and classes of failures.
	noCode = regexp.MustCompile(`^(?:0+|-\d+|9\d\d|1\d{4}|[145][xX][xX])$`)
	// nothing matches what stands for no: in a column of errors, of what was done, or of times.
	nothing = regexp.MustCompile(`^(?i:|-|0(?:\.0+)?|no?|none|null|nil|\\n|f|false|n/a|never|\[\s*\]|\{\s*\})$`)
	// noTime matches the times that databases and programs write for none.
	noTime  = regexp.MustCompile(`^(?:0000-00-00|0001-01-01|1970-01-01)(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z| UTC|[+-]00:?00)?)?$`)
	blank   = regexp.MustCompile(`^(?i:|-+|null|none|n/a|\(empty\))$`)
	numbers = regexp.MustCompile(`^[\d.,]+%?$`)
	// statusLine matches what a server answers with.
	statusLine = regexp.MustCompile(`^[1-5]\d\d [A-Z]`)
)

// failures are words and marks for a request that no server answered, or not well. Tools write them where others write a status.
var failures = regexp.MustCompile(`(?i)^(?:connect|dns)|fail|error|^err\b|time[d -]*out|refused|reset|unreachable|unresolved|no such host|not[ _]?found|not[ _](?:fetch|crawl|visit|process|yet)|^un(?:fetch|crawl|visit|process|check)|aborted|blocked|dead|broken|down$|skipped|pending|queued|^(?:todo|waiting|scheduled|in[ _-]?progress)$|` +
	`^(?:[✖✗✘❌⛔]|fehler|erreur|errore|erro|fallo|falha|fout|fel|błąd|chyba|hata|ошибка|エラー|错误|失败|오류)`)

// successes are what the same column has for the others.
var successes = regexp.MustCompile(`(?i)^(?:[23]xx|ok|okay|success(?:ful)?|succeeded|done|fetched|crawled|visited|scraped|processed|finished|completed?|good|passed|alive|up|[✓✔✅]|erfolgreich|réussie?|éxito|riuscito|успешно|成功)$`)

// verdictOf classifies a cell. It returns the status code, if any, and whether the cell says more than the bare number.
func verdictOf(cell string) (v verdict, code string, explicit bool) {
	if len(cell) == 3 && '1' <= cell[0] && cell[0] <= '5' && strings.Trim(cell[1:], "0123456789") == "" { // nearly always
		return answered, cell, false
	}
	if m := coded.FindStringSubmatch(cell); m != nil {
		return answered, m[2], m[1] != "" || statusLine.MatchString(cell)
	}
	if m := closing.FindStringSubmatch(cell); m != nil {
		return answered, m[1] + m[2], true
	}
	switch cell = strings.Trim(cell, "[](),"); {
	case blank.MatchString(cell):
		return silent, "", false
	case noCode.MatchString(cell):
		return failed, "", false
	case numbers.MatchString(cell):
		return aNumber, "", false
	case successes.MatchString(cell):
		return worked, "", false
	case failures.MatchString(cell) && !plausible(cell):
		return failed, "", false
	}
	return aWord, "", false
}

// Of a file in which some records have a status, those without one had no answer; of one in which none has, all were fetched, or so the
// caller says: a list of what is done must be of use. Which of the two a file is can show in its last line. A look at the first
// lines was not enough: fifty failed fetches above the first status were recorded as seen. So import looks through the whole file first.

// Unsaid reports whether a record has neither a status nor anything else that only a response can provide.
func (r *Record) Unsaid() bool {
	return r.Kind == Listed || r.Kind == Fetch && r.Status == 0 && r.Digest == "" && r.Redirect == ""
}

// Answers reports whether some line of a list, a table or JSON says what a server answered. Other formats always do, or never. It
// reads up to the first such line, mostly one of the first, and leaves f as it was: a pipe is kept in a file in TMPDIR meanwhile.
func Answers(f *File, opt Options) (found bool, err error) {
	if how, err := detect(f, &opt); err != nil || !slices.Contains([]Format{List, Table, JSON}, how.format) {
		return false, nil // Read returns the error
	}
	ahead, back, err := f.ahead()
	if err != nil {
		return false, err
	}
	for b, err := range Read(ahead, opt) {
		if err != nil {
			break // the second reading meets it, too
		}
		for r := range b.All() {
			found = found || r.Status != 0
		}
		if found = found || b.answers; found {
			break
		}
		b.Release()
	}
	return found, back()
}

// saysAnswer reports whether an unreadable line still contains a status, after a URL or under a known name.
func saysAnswer(text string) bool {
	if name, value, ok := strings.Cut(strings.TrimLeft(text, " \t-"), ":"); ok && slices.Contains(vocabulary[aStatus], plainName(name)) {
		v, _, _ := verdictOf(strings.TrimSpace(value))
		return v == answered
	}
	cells := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,;|[]()", r) })
	return slices.ContainsFunc(cells, plausible) && slices.ContainsFunc(cells, func(s string) bool { return slices.Contains(codes, s) })
}

// codes are the statuses that a column must consist of to be one of statuses without being called so.
var codes = []string{"200", "201", "202", "204", "206", "301", "302", "303", "304", "307", "308", "400", "401", "403", "404", "405", "406", "408", "409", "410", "418", "422", "423", "429", "451", "500", "501", "502", "503", "504", "520", "521", "522", "523", "524", "525", "526", "530"}

// An answerColumn is a column with the outcome of the request.
type answerColumn struct {
	at     int
	strict bool // anything but a code or a word for success means no answer
	late   bool // it had nothing in the first rows: beside a column of statuses its numbers are no codes
	says   func(cell string) (v verdict, code string, explicit bool)
}

// errorOf, fetchedOf and successOf classify the cells of columns that have no status.
func errorOf(cell string) (verdict, string, bool) {
	if nothing.MatchString(cell) || strings.EqualFold(cell, "ok") {
		return silent, "", false
	}
	return failed, "", false
}

// fetchedOf judges the cells of a column that says whether, or when, a URL was fetched.
func fetchedOf(cell string) (verdict, string, bool) {
	if nothing.MatchString(cell) || noTime.MatchString(cell) {
		return failed, "", false
	}
	return silent, "", false
}

// flagOf returns how the cells of a column or field are judged that tells of a fetch without a status, by its name as squeezed writes it; nil for
// another. Crawlers' own databases have little else, and a URL that was only queued must not pass as seen.
func flagOf(name string) func(cell string) (verdict, string, bool) {
	switch {
	case slices.Contains(vocabulary[anError], name) || someError.MatchString(name):
		return errorOf
	case ofFetch.MatchString(name):
		return fetchedOf
	case slices.Contains(vocabulary[aSuccess], name):
		return successOf
	}
	return nil
}

// ofFetch matches the names of what says whether, or when, a URL was fetched: is_crawled, visited, last_fetch_time, done. A check time is a duration.
var ofFetch = regexp.MustCompile(`^(?:(?:is|was|has|been|date)*` + fetching + `e?d|(?:last|first)` + fetching + `(?:e?d)?(?:time)?|(?:date|last|first)*` + fetching + `(?:e?d)?(?:at|on|date|timestamp|ts|utc)+|` +
	`(?:crawl|fetch|visit|access)time|(?:is)?(?:done|completed|finished)(?:at|on|date|ts)*)$`)

const fetching = `(?:crawl|fetch|visit|retriev|scrap|download|process|access|check)`

// ofState matches the names of columns and fields whose words say how far a URL has come. Where one of them is for success, the others are not.
var ofState = regexp.MustCompile(`^(?:(?:crawl|fetch|scrap|process|download|visit|check|queue|job|task|url|page)?(?:er|e|ing)?(?:status|state)|any status|result|outcome|statustext)$`)

// stateOf judges a word in one of them. OK is Oklahoma, too.
func stateOf(name, cell string) verdict {
	v, _, _ := verdictOf(cell)
	if v == worked && name == "state" && len(cell) == 2 {
		return aWord
	}
	return v
}

// lateOf judges the cells of a column that had nothing in the first rows: a code or a word for failure, but not a text with such a word.
func lateOf(cell string) (verdict, string, bool) {
	v, code, sure := silent, "", false
	if cell != "" {
		v, code, sure = verdictOf(cell)
	}
	if v == answered && !sure && !slices.Contains(codes, cell) || v == failed && strings.Contains(cell, " ") {
		return aWord, "", false
	}
	return v, code, sure
}

func successOf(cell string) (verdict, string, bool) {
	if cell == "" {
		return silent, "", false
	}
	return fetchedOf(cell)
}

// counted are names of columns whose numbers can look like codes.
var counted = regexp.MustCompile(`count|clicks|impressions|views|visit|words|size|bytes|length|position|price|stock|quantity|latency|ttfb|volume|traffic|links$|hits|sessions|users|duration|time|rank|score|id$`)

// ofOthers are names of columns with the codes of other URLs than the row's own.
var ofOthers = regexp.MustCompile(`redirect|targeturl|canonical|referr|parent`)

// judge reports whether cells under a name are of answers: it says nothing (aWord), or that they have codes (answered), or words for success and
// failure (worked). A name says it with few cells of it, the cells alone if they are little else.
func judge(name string, cells []string) (is verdict, strict bool) {
	var of [failed + 1]int
	known, good, explicit := 0, 0, 0
	for _, cell := range cells {
		_, code, sure := verdictOf(cell)
		v := stateOf(name, cell)
		of[v]++
		if slices.Contains(codes, code) {
			known++
		}
		if v == answered && code < "400" {
			good++
		}
		if sure {
			explicit++
		}
	}
	full := len(cells) - of[silent]
	named := slices.Contains(vocabulary[aStatus], name)
	outcomes := of[answered] + of[worked] + of[failed]
	switch {
	case named && (len(cells) == 0 || 2*(outcomes+of[silent]) > len(cells) && of[worked] < len(cells) || of[answered] > 0 && 2*of[aNumber] < full):
		if of[answered] == 0 && of[worked] > 0 { // words alone
			return worked, ofState.MatchString(name)
		}
		return answered, true
	case ofState.MatchString(name) && of[worked] > 0 && of[answered]+of[aNumber] == 0:
		return worked, true
	case ofOthers.MatchString(name):
	case full == 0 && len(cells) > 0: // empty so far; its purpose may show later
		return silent, false
	case known > 0 && of[aNumber] == 0 && known == of[answered] && !counted.MatchString(name) && (2*known >= full || outcomes == full && !numbersOnly(cells)):
		return answered, good > 0 || explicit == 0
	case explicit > 0 && explicit == of[answered] && of[aNumber] == 0:
		return answered, good > 0
	case outcomes == full && 2*full >= len(cells) && of[answered] == 0 && of[worked]+of[failed] > 0 && !numbersOnly(cells):
		return worked, false
	}
	return aWord, false
}

// numbersOnly reports whether cells are numbers: zeros and large ones alone are no failures.
func numbersOnly(cells []string) bool {
	return !slices.ContainsFunc(cells, func(s string) bool { return strings.Trim(s, "-0123456789") != "" })
}

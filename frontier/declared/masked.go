package declared

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Masked returns the [Digest] of a page without what its URL tells already, for frontier.Fetched. So the pages of a calendar without
// events have one, though each prints its date. It is "" for a page that is not HTML, or has fewer than 20 words.
//
// What the URL tells are its numbers, and those one higher or lower, which lead to the next page. If the URL names a date, they are also
// the parts of that date, its week and the names of its month and day of the week, and the same of the days, weeks, months and
// years around it. And a count is told by its first number, so that the days of a month are one word, wherever its weeks begin.
//
// The simpler way, to leave out all numbers and all names of months, takes pages for equal that are not: prices, tables, statistics.
// Those keep their digests here, since no URL has their numbers. Pages with hardly any content, such as the one
// temperature of a day, can still be equal. So an equal digest is a reason to fetch the URLs of a template later, not to take two of them for one.
func Masked(page, contentType string, body []byte) string {
	m := mask{told: toldBy(page), seen: sha256.New()}
	if visible(contentType, body, m.add) < minWords {
		return ""
	}
	m.endCount()
	return "masked:" + hex.EncodeToString(m.seen.Sum(nil))
}

// mask digests words without what a URL tells.
type mask struct {
	told  told
	seen  hash.Hash
	count []int // words that are numbers, each one more than the one before it, or 1
}

// leastCount is how many numbers are a count: a week.
const leastCount = 7

func (m *mask) add(word []byte, isAddress bool) {
	if n, err := strconv.Atoi(string(word)); err == nil && n >= 0 && len(word) <= 9 && !isAddress {
		if last := len(m.count) - 1; last >= 0 && n != 1 && n != m.count[last]+1 {
			m.endCount()
		}
		m.count = append(m.count, n)
		return
	}
	m.endCount()
	if isAddress { // an image is content, whatever its address has of the URL
		m.write(word)
	} else {
		m.runs(word)
	}
	m.write([]byte{' '})
}

// endCount digests a count as one word, and fewer numbers one by one.
func (m *mask) endCount() {
	if len(m.count) >= leastCount {
		m.write([]byte("1… "))
	} else {
		for _, n := range m.count {
			m.number(n, strconv.AppendInt(nil, int64(n), 10))
			m.write([]byte{' '})
		}
	}
	m.count = m.count[:0]
}

// runs digests a word by its runs of digits, of letters, and of others.
func (m *mask) runs(word []byte) {
	for len(word) > 0 {
		kind := runOf(word)
		n := 0
		for n < len(word) && runOf(word[n:]) == kind {
			_, size := utf8.DecodeRune(word[n:])
			n += size
		}
		run := word[:n]
		word = word[n:]
		switch kind {
		case 'd':
			if value, err := strconv.Atoi(string(run)); err == nil {
				m.number(value, run)
			} else { // it is too long
				m.write(run)
			}
		case 'a':
			if m.told.names(run) {
				run = []byte("date")
			}
			m.write(run)
		default:
			m.write(run)
		}
	}
}

func (m *mask) number(n int, text []byte) {
	if slices.Contains(m.told.numbers, n) {
		text = []byte("0")
	}
	m.write(text)
}

func (m *mask) write(text []byte) { _, _ = m.seen.Write(text) } // a hash never fails

// runOf tells the digits, letters and other characters of a word apart, by its first.
func runOf(text []byte) byte {
	switch r, _ := utf8.DecodeRune(text); {
	case '0' <= r && r <= '9':
		return 'd'
	case unicode.IsLetter(r):
		return 'a'
	}
	return 0
}

// told is what a URL tells of its page.
type told struct {
	numbers []int
	dates   []time.Time // that it names, and those around it
}

// mostNumbers bounds the numbers of a URL that are looked at.
const mostNumbers = 16

func toldBy(page string) (is told) {
	_, rest, _ := strings.Cut(page, "://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		rest = rest[slash:]
	}
	rest, _, _ = strings.Cut(rest, "#")
	var found []int
	for digits := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			continue
		}
		if len(found) >= mostNumbers { // each number of the page is compared with all
			break
		}
		if len(digits) == 8 && isYear(n/10_000) { // 20260305
			found = append(found, n/10_000, n/100%100, n%100)
		} else {
			found = append(found, n)
		}
		is.numbers = append(is.numbers, n-1, n, n+1)
	}
	date, ok := dateOf(found)
	if !ok {
		return is
	}
	for _, by := range [...][3]int{{}, {0, 0, -7}, {0, 0, -1}, {0, 0, 1}, {0, 0, 7}, {0, -1, 0}, {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}} {
		at := date.AddDate(by[0], by[1], by[2])
		_, week := at.ISOWeek()
		is.dates = append(is.dates, at)
		is.numbers = append(is.numbers, at.Year(), int(at.Month()), at.Day(), week)
	}
	return is
}

// dateOf returns the date that the numbers of a URL are: a year with what follows it or stands before it, or a time of Unix.
func dateOf(found []int) (date time.Time, ok bool) {
	at := func(i, most int) int { // 0 if it cannot be
		if i < 0 || i >= len(found) || found[i] > most {
			return 0
		}
		return found[i]
	}
	for i, n := range found {
		switch {
		case n >= 1e9 && n < 4e9:
			return time.Unix(int64(n), 0).UTC(), true
		case isYear(n) && at(i+1, 12) > 0:
			return time.Date(n, time.Month(found[i+1]), max(at(i+2, 31), 1), 0, 0, 0, 0, time.UTC), true
		case isYear(n) && at(i-1, 12) > 0:
			return time.Date(n, time.Month(found[i-1]), max(at(i-2, 31), 1), 0, 0, 0, 0, time.UTC), true
		}
	}
	return date, false
}

func isYear(n int) bool { return 1900 <= n && n < 2200 }

// names reports whether a word is the name, or the start of the name, of a month or a day of the week of the dates.
func (t *told) names(word []byte) bool {
	if len(t.dates) == 0 || len(word) < 3 {
		return false
	}
	word = bytes.ToLower(word)
	for _, date := range t.dates {
		for _, of := range languages {
			if strings.HasPrefix(of.months[date.Month()-1], string(word)) || strings.HasPrefix(of.days[date.Weekday()], string(word)) {
				return true
			}
		}
	}
	return false
}

// languages are those whose names of months and days are known, in small letters; the first day is Sunday.
var languages = [...]struct {
	months [12]string
	days   [7]string
}{
	{[12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"},
		[7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
	{[12]string{"januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember"},
		[7]string{"sonntag", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag"}},
	{[12]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"},
		[7]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"}},
	{[12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
		[7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"}},
}

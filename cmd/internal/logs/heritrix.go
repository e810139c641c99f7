package logs

import (
	"strconv"
	"strings"
	"time"
)

// parseHeritrix reads a line of a Heritrix crawl.log, 1.x or 3.x
// (UriProcessingFormatter):
//
//	time status size uri path via mime #thread start+ms digest source annotations [json]
//
// Blanks are single but before status and size; annotations may hold some. A status
// below zero, or one of DNS and whois, is of a URL that was found but not fetched.
func parseHeritrix(text string, emit func(Record)) error {
	f, ok := heritrixFields(text)
	if !ok && strings.TrimSpace(text) == "" {
		return isBlankLine
	}
	if !ok {
		return bad("got too few columns for a crawl.log")
	}
	at := layoutTime(time.RFC3339Nano, f[0])
	if at.IsZero() {
		return bad("got time %q; want a line of a crawl.log", f[0])
	}
	status, err := strconv.Atoi(f[1])
	if err != nil {
		return bad("got status %q; want a number", f[1])
	}
	size := int64(0)
	if f[2] != "-" {
		if size, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return bad("got size %q; want a number or -", f[2])
		}
	}
	if !strings.HasPrefix(f[7], "#") {
		return bad("got %q; want a thread, as in #042", f[7])
	}
	r := Record{URL: f[3], Time: at, Status: status, Length: size, MIME: f[6], Digest: bareDigest(f[9]), Via: given(f[5])}
	r.RedirectedFrom = strings.HasSuffix(f[4], "R") && r.Via != ""
	r.Kind = heritrixKind(r, f[10])
	emit(r)
	return nil
}

// heritrixFields cuts off eleven columns and leaves the rest, annotations and JSON.
// The last two columns may be missing: 1.x left them out when empty.
func heritrixFields(text string) ([11]string, bool) {
	var f [11]string
	rest := text
	for i := range f {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return f, i >= 10
		}
		f[i], rest, _ = strings.Cut(rest, " ")
	}
	f[10] = f[10] + " " + rest
	return f, true
}

func heritrixKind(r Record, annotations string) Kind {
	kind := Fetch
	switch {
	case r.Status < 0, r.Status == 0:
		kind = Link
	case strings.Contains(annotations, "duplicate:\""), strings.Contains(annotations, "warcRevisit:"), strings.Contains(annotations, "duplicate:digest"):
		kind = Revisit
	}
	return kindOf(r.URL, kind)
}

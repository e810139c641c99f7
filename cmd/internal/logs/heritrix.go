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
	var f [11]string // the last one has all annotations
	rest, n := text, 0
	for ; n < len(f); n++ {
		if f[n], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " "); f[n] == "" {
			break
		}
	}
	f[10] += " " + rest
	at := layoutTime(time.RFC3339Nano, f[0])
	status, noStatus := strconv.Atoi(f[1])
	size, noSize := strconv.ParseInt(f[2], 10, 64)
	switch {
	case strings.TrimSpace(text) == "":
		return isBlankLine
	case n < 10: // 1.x left an empty source out
		return bad("got too few columns for a crawl.log")
	case at.IsZero() || noStatus != nil || noSize != nil && f[2] != "-" || !strings.HasPrefix(f[7], "#"):
		return bad("got time %q, status %q, size %q and thread %q; want a line of a crawl.log", f[0], f[1], f[2], f[7])
	}
	r := Record{URL: f[3], Time: at, Status: status, Length: size, MIME: f[6], Digest: bareDigest(f[9]), Via: given(f[5])}
	r.RedirectedFrom = strings.HasSuffix(f[4], "R") && r.Via != ""
	r.Kind = heritrixKind(r, f[10])
	emit(r)
	return nil
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

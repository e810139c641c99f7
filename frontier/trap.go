package frontier

import "strings"

// Traps are limits that URLs of real pages rarely reach, and that endless generated URLs exceed:
// calendars, sessions in the path, links relative to themselves. They apply to canonical forms. The zero value has all
// of them on; a negative number switches one off. What share of real URLs each
// limit refuses is in the table of the package's README.
type Traps struct {
	// Off switches all of them off. The default is false.
	Off bool
	// URLLength is the maximum length in bytes. The default is 2048.
	URLLength int
	// PathDepth is the maximum number of segments in the path. The default is 24.
	PathDepth int
	// Repeats is how often one segment may occur in a path: /a/b/a/b/a has
	// three times a. The default is 4.
	Repeats int
	// Queries is how many distinct query strings of one path are queued. They are counted
	// from New on in 768 KiB of memory; the counts of rarely seen paths may be lost. The
	// default is 50,000.
	Queries int
}

func (t Traps) withDefaults() Traps {
	if t.Off {
		return Traps{Off: true}
	}
	t.URLLength = orOff(t.URLLength, 2048)
	t.PathDepth = orOff(t.PathDepth, 24)
	t.Repeats = orOff(t.Repeats, 4)
	t.Queries = orOff(t.Queries, 50_000)
	return t
}

// Check returns the reason to refuse a URL by its canonical form, or "". It ignores Queries. Add
// refuses a Link without SkipTraps for the same reasons.
func (t Traps) Check(canonical string) Reason {
	t = t.withDefaults()
	return t.check(canonical)
}

// check is Check for limits that have their defaults.
func (t *Traps) check(canonical string) Reason {
	if t.URLLength > 0 && len(canonical) > t.URLLength {
		return ReasonTooLong
	}
	if t.PathDepth == 0 && t.Repeats == 0 {
		return ""
	}
	return t.checkPath(pathOf(canonical))
}

func (t *Traps) checkPath(path string) Reason {
	depth := strings.Count(path, "/")
	if strings.HasSuffix(path, "/") {
		depth-- // the empty segment at the end of a directory
	}
	if t.PathDepth > 0 && depth > t.PathDepth {
		return ReasonPathDepth
	}
	if t.Repeats > 0 && depth > t.Repeats && mostRepeated(path) > t.Repeats {
		return ReasonRepeats
	}
	return ""
}

// mostRepeated returns how often the most frequent segment of a path occurs.
func mostRepeated(path string) int {
	most := 0
	var few [16]string // enough for nearly all paths, without a map
	n := 0
	for seg := range strings.SplitSeq(path, "/") {
		if seg == "" {
			continue
		}
		if n == len(few) {
			return mostRepeatedOfMany(path)
		}
		few[n] = seg
		n++
		same := 0
		for _, s := range few[:n] {
			if s == seg {
				same++
			}
		}
		most = max(most, same)
	}
	return most
}

func mostRepeatedOfMany(path string) int {
	most := 0
	counts := make(map[string]int, 64)
	for seg := range strings.SplitSeq(path, "/") {
		if seg != "" {
			counts[seg]++
			most = max(most, counts[seg])
		}
	}
	return most
}

// pathOf returns the path of a canonical form, "" if it has none.
func pathOf(canonical string) string {
	canonical, _, _ = strings.Cut(canonical, "?")
	canonical, _, _ = strings.Cut(canonical, "#")
	if i := strings.Index(canonical, "://"); i >= 0 {
		canonical = canonical[i+3:]
	}
	if i := strings.IndexByte(canonical, '/'); i >= 0 {
		return canonical[i:]
	}
	return ""
}

// withoutQuery splits a canonical form at its query; ok is false if it has none.
func withoutQuery(canonical string) (base string, ok bool) {
	i := strings.IndexByte(canonical, '?')
	if i < 0 {
		return "", false
	}
	return canonical[:i], true
}

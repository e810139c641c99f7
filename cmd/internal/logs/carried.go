package logs

import (
	"regexp"
	"slices"
	"strings"
)

// Log lines reach a file in what carries them: a prefix of syslog, journald, Kubernetes or docker compose, or a field of the
// objects that Docker, Loki and Filebeat write. What is carried is read as if it stood alone: the detector looks at the sample
// without its carriers first, and wraps the parser that it finds. A regexp for each pair of carrier and format would not
// end; and to unwrap each line before anything else would take a log of its own, such as one of objects with a "message"
// beside their URL, for a carrier. So lines are carried only if most are, and if the lines around them have no URL themselves.

// carried is what syslog, journald and container engines put before a line.
var carried = regexp.MustCompile(`^(?:(?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]+)(?: \S+)? [\w./-]+(?:\[[\w.]+\])?: |<\d+>1 \S+ \S+ \S+ \S+ \S+ \S+ |\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] |[\w.-]+ +\| |\[pod/\S+\] )`)

// ofKafka matches what its consoles print before the key.
var ofKafka = regexp.MustCompile(`^(?:(?:(?:CreateTime|LogAppendTime|Partition|Offset):-?\d+|NO_TIMESTAMP|NO_HEADERS)\t)+`)

// withURL matches an object that has its URL itself.
var withURL = regexp.MustCompile(`(?i)"(?:(?:page|request|full|final|original)[_.-]?)?(?:url|uri|link|loc|href)" *: *"https?://`)

// carriers are the fields in which Docker, Loki, journald, Filebeat and others have a line.
var carriers = []string{"log", "line", "MESSAGE", "message", "msg", "textPayload", "_raw"}

// unwrap returns the line in what carries it, and whether there is one. A field carries a line if it has more than a word: a name of a
// file, or a number, is something else.
func unwrap(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") {
		before, object, _ := strings.Cut(text, "\t{")
		key := ofKafka.ReplaceAllString(before, "")
		if strings.HasSuffix(object, "}") && !strings.Contains(key, "\t") && withURL.MatchString(object) && (!strings.Contains(key, "://") || strings.Contains(object, `"`+key+`"`)) {
			return "{" + object, true // Kafka's consoles print the key before a message
		}
		before = carried.FindString(text)
		return text[len(before):], before != ""
	}
	o := fields{}
	if decode(text, &o) != nil {
		return text, false
	}
	for _, name := range carriers {
		inner := strings.TrimRight(o.text(name), "\r\n")
		if strings.ContainsAny(strings.TrimSpace(inner), " \t{") || strings.Contains(inner, "://") {
			return inner, true
		}
	}
	if o["stream"] != nil && strings.TrimSpace(o.text("log")) == "" { // of Docker
		return "", true
	}
	return text, false
}

// wrapped reads lines that are carried by others.
type wrapped struct {
	parser
	format Format
}

func (w wrapped) line(text string, emit func(Record)) error {
	inner, ok := unwrap(text)
	if !ok && strings.HasPrefix(text, "-- ") {
		return isComment // of journald
	}
	if w.format == JSON || w.format == List { // the log message around it may be about a failed fetch
		emit = found(emit)
	}
	return w.parser.line(inner, emit)
}

// found takes a record without a status for a URL that was only found.
func found(emit func(Record)) func(Record) {
	return func(r Record) {
		if r.Status == 0 && (r.Kind == Fetch || r.Kind == Listed) {
			r.Kind = Link
		}
		emit(r)
	}
}

// unwrapped returns a detector of the lines that others carry, if most do, and have no URL themselves.
func (d *detector) unwrapped() *detector {
	inner, without := *d, 0
	inner.lines = nil
	for _, line := range d.lines {
		text, ok := unwrap(line)
		if !ok {
			without++
		} else if strings.TrimSpace(text) != "" {
			inner.lines = append(inner.lines, text)
		}
	}
	if _, _, read, _ := d.json(); read > 0 || len(inner.lines) <= without {
		return nil
	}
	inner.head = nil
	return &inner
}

// carriedList returns the reading of a list whose lines others carry; nil if they are none.
func (d *detector) carriedList() *reading {
	if d == nil || !slices.ContainsFunc(d.lines, func(line string) bool { return strings.Contains(line, "://") }) {
		return nil
	}
	how, err := d.list()
	if err != nil {
		return nil
	}
	if how.parser == nil {
		how.parser = &listParser{scheme: d.opt.Scheme}
	}
	how.parser = wrapped{how.parser, List}
	return how
}

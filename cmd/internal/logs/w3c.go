package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A w3cParser reads logs in the extended log file format of the W3C (WD-logfile-960323),
// as IIS and CloudFront write them. A line "#Fields:" names the columns, and may come again
// with others. Where no column names the host, base is put before the paths.
type w3cParser struct {
	atOnce

	opt   *Options
	names []string // as plainName writes them
	cells []string // of the line that is read
}

func (p *w3cParser) line(text string, emit func(Record)) error {
	if fields, ok := strings.CutPrefix(text, "#Fields:"); ok {
		p.names = p.names[:0]
		for _, name := range strings.Fields(fields) {
			p.names = append(p.names, plainName(name))
		}
		if !slices.ContainsFunc(p.names, func(name string) bool { return slices.Contains(w3cTargets, name) }) {
			p.names = nil
			return bad("got columns %q; want cs-uri-stem or cs-uri among them", strings.Fields(fields))
		}
		return isHeader
	}
	switch {
	case strings.TrimSpace(text) == "":
		return isBlankLine
	case strings.HasPrefix(text, "#"):
		return isComment
	case p.names == nil:
		return bad("got a line without #Fields before it that name the column of a URL")
	case strings.Contains(text, "\t"):
		p.cells = strings.Split(text, "\t")
	default:
		p.cells = columns(p.cells[:0], text)
	}
	if len(p.cells) != len(p.names) {
		return bad("got %d columns; want the %d of #Fields", len(p.cells), len(p.names))
	}
	r := Record{Time: layoutTime(time.DateTime, p.get("date")+" "+p.get("time")), Length: number(p.get("scbytes")), Via: p.get("cs(referer)")}
	r.URL, r.Kind, r.assumed = p.url()
	if slices.Contains(p.names, "scstatus") {
		r.answered(p.get("scstatus"))
	}
	emit(r)
	return nil
}

// w3cTargets are the columns of what was asked for.
var w3cTargets = []string{"csuri", "csuristem", "csuripath"}

// get returns the value of the first of the columns that has one.
func (p *w3cParser) get(names ...string) string {
	for _, name := range names {
		if i := slices.Index(p.names, name); i >= 0 && given(p.cells[i]) != "" {
			return p.cells[i]
		}
	}
	return ""
}

// url makes the URL of a line. cs-uri may be whole, with or without its scheme, or be what cs-uri-stem is.
func (p *w3cParser) url() (url string, kind Kind, assumed bool) {
	target := addQuery(p.get(w3cTargets...), p.get("csuriquery"))
	if slices.Contains(p.names, "xedgelocation") { // CloudFront escapes its fields, also the percent signs in them
		target = strings.ReplaceAll(target, "%25", "%")
	}
	scheme := p.get(vocabulary[aScheme]...)
	switch {
	case p.get("csmethod") == "CONNECT": // a tunnel to a host
		return target, Other, false
	case isURL(strings.ReplaceAll(target, " ", "+")):
		return target, Fetch, false
	case isHost(target):
		if scheme = cmp.Or(scheme, p.opt.Scheme); encrypted.MatchString(scheme) || scheme == "" && p.get("sport") == "443" {
			return "https://" + target, Fetch, false
		}
		return "http://" + target, Fetch, scheme == "" && p.get("sport") != "80"
	case !strings.HasPrefix(target, "/"):
		return target, Other, false
	}
	url, assumed = compose(p.get(vocabulary[aHost]...), target, func(m meaning) string {
		if m == aQuery {
			return "" // the target has it
		}
		return p.get(vocabulary[m]...)
	}, p.opt)
	return url, Fetch, assumed
}

package canon

import (
	"bytes"
	"fmt"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// Qiita is the default profile: the six steps of the Qiita article on URL
// canonicalization, made safe for a crawler. Its canonical forms keep two laws, under
// every subset of the optional rules: canonicalizing one again changes nothing
// (idempotence), and neither does a WHATWG parser (fixpoint).
func Qiita() *Profile {
	return qiitaPreset
}

var qiitaPreset = newQiita(settings{on: defaultRules(), maxLength: DefaultMaxLength, lists: versions[newestLists]})

func newQiita(s settings) *Profile {
	q := &qiita{settings: s, scoped: s.sites != nil && s.on.has(rScopedRules)}
	q.note()
	return &Profile{name: "qiita", version: 1, spec: q.spec(), rules: q.infos(), qiita: q}
}

var presetRules, filterRules = defaultRules(), setOfRules(pairFilters)

// note sets what follows from the rules that are on.
func (q *qiita) note() {
	added := q.on &^ presetRules
	q.quick, q.filters = added.without(rKeepHashbang) == 0, added&filterRules != 0
}

var pairFilters = []ruleID{rStripTrackingParams, rStripSessionIDs, rScopedParams, rDropEmptyParams}

// qiita is the rules of a profile, ready to run.
type qiita struct {
	settings
	quick   bool // no rule is on that changes what scan finds canonical
	filters bool // a rule is on that drops parameters
	scoped  bool // which rules are on depends on host and path
}

func (q *qiita) appendCanonical(dst, raw []byte) ([]byte, error) {
	if len(raw) > q.maxLength {
		return dst, q.tooLong(len(raw), "URL")
	}
	l, ok := scan(raw)
	if ok && q.isClean(raw, &l) {
		return append(dst, raw[:l.end]...), nil
	}
	return q.appendOther(dst, raw, &l, ok)
}

// canonicalize is appendCanonical for strings; a clean form is cut out of raw, not copied. Nothing that reads s keeps or changes it.
func (q *qiita) canonicalize(raw string) (string, error) {
	if len(raw) > q.maxLength {
		return "", q.tooLong(len(raw), "URL")
	}
	s := zerocopy.Bytes(raw)
	l, ok := scan(s)
	if ok && q.isClean(s, &l) {
		return raw[:l.end], nil
	}
	if len(raw) > shortURL {
		return q.rewriteLong(raw, &l, ok)
	}
	var room [shortURL * 5 / 4]byte // on the stack
	out, err := q.appendOther(room[:0], s, &l, ok)
	if err != nil || string(out) == raw {
		return raw[:len(out)], err
	}
	return string(out), nil
}

// shortURL is the length up to which a string is rewritten on the stack.
const shortURL = 256

// rewriteLong makes the buffer it writes to the string, since nothing else refers to it.
func (q *qiita) rewriteLong(raw string, l *layout, ok bool) (string, error) {
	out, err := q.appendOther(make([]byte, 0, len(raw)+len(raw)/8), zerocopy.Bytes(raw), l, ok)
	if err != nil || string(out) == raw {
		return raw[:len(out)], err
	}
	return zerocopy.String(out), nil
}

// isClean reports whether the canonical form is raw up to its fragment.
func (q *qiita) isClean(raw []byte, l *layout) bool {
	return l.pathOK && l.queryOK && q.quick && (l.end == len(raw) || q.dropsFragment(raw, l))
}

// dropsFragment is sure of it: one with newlines may stay once they are gone.
func (q *qiita) dropsFragment(raw []byte, l *layout) bool {
	return !q.keepsFragment(raw[l.end:]) && !q.needsSlow(raw, l)
}

// appendOther is for URLs that have to be rewritten, the fast way if scan was ok.
func (q *qiita) appendOther(dst, raw []byte, l *layout, ok bool) (out []byte, err error) {
	if q.scoped {
		return q.appendAtSite(dst, raw, l, ok)
	}
	return q.appendHere(dst, raw, l, ok)
}

// appendHere is appendOther where it is known which rules are on.
func (q *qiita) appendHere(dst, raw []byte, l *layout, ok bool) (out []byte, err error) {
	if ok && !q.needsSlow(raw, l) {
		out = q.appendRewritten(dst, raw, l)
	} else if out, err = q.appendSlow(dst, raw); err != nil {
		return dst, err
	}
	if n := len(out) - len(dst); n > q.maxLength {
		return dst, q.tooLong(n, "canonical form")
	}
	return out, nil
}

func (q *qiita) appendSlow(dst, raw []byte) ([]byte, error) {
	out, err := q.run(string(raw), q.on, nil)
	return append(dst, out...), err
}

// needsSlow reports whether an optional rule has work that only the slow path does:
// sessions in the path or after a ";", references to "&", newlines in a fragment that is kept,
// or is once they are gone.
func (q *qiita) needsSlow(raw []byte, l *layout) bool {
	return q.on.has(rStripSessionIDs) && (bytes.ContainsAny(raw[l.path:l.query], ";(") || bytes.IndexByte(raw[l.query:l.end], ';') >= 0) ||
		q.on.has(rRepairAmp) && bytes.IndexByte(raw[l.path:], ';') >= 0 ||
		l.end < len(raw) && q.mayKeepFragment() && bytes.ContainsAny(raw[l.end:], "\t\n\r")
}

func (q *qiita) tooLong(n int, what string) error {
	return fault.As(ErrTooLong, "cannot canonicalize; got a %s of %d bytes; want at most %d", what, n, q.maxLength)
}

func (q *qiita) steps(raw string) (steps []Step, err error) {
	if len(raw) > q.maxLength {
		return nil, q.tooLong(len(raw), "URL")
	}
	on := q.onFor(raw)
	out, err := q.run(raw, on, func(r Rule, before, after string) {
		steps = append(steps, Step{Rule: r, Before: before, After: after, Scope: q.scopeOf(r, raw, before)})
	})
	if err == nil && len(out) > q.maxLength {
		err = q.tooLong(len(out), "canonical form")
	}
	return steps, err
}

func (q *qiita) infos() (infos []RuleInfo) {
	for id := range ruleCount {
		if q.on.has(id) {
			infos = append(infos, rules[id].RuleInfo)
		}
	}
	return infos
}

// spec lists what differs from the preset, in the order of the rules.
func (q *qiita) spec() string {
	spec, sep := "", ""
	for id := range ruleCount {
		if on := q.on.has(id); on != rules[id].Default && id != rScopedParams && id != rScopedRules {
			spec += sep + map[bool]string{true: "+", false: "-"}[on] + string(rules[id].Rule)
			sep = ","
		}
	}
	if digest, ok := q.fileDigest(); ok {
		spec += sep + "file=" + digest
		sep = ","
	}
	if q.usesLists() && q.lists.version > 1 {
		spec += fmt.Sprintf("%slists=%d", sep, q.lists.version)
		sep = ","
	}
	if q.maxLength != DefaultMaxLength {
		spec += fmt.Sprintf("%smax=%d", sep, q.maxLength)
	}
	return spec
}

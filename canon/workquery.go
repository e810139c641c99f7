package canon

import (
	"cmp"
	"slices"
	"strings"
)

// editQuery lets f change the list of pairs. A query without any is left alone.
func (w *work) editQuery(f func(pairs []string) []string) error {
	if len(w.query) > len("?") {
		w.query = "?" + strings.Join(f(strings.Split(w.query[1:], "&")), "&")
	}
	return nil
}

// dropPairs drops the pairs for which f is true.
func (w *work) dropPairs(f func(name, value string, bare bool) bool) error {
	return w.editQuery(func(pairs []string) []string {
		return slices.DeleteFunc(pairs, func(pair string) bool {
			name, value, full := strings.Cut(pair, "=")
			return f(name, value, !full)
		})
	})
}

func (w *work) dropQuery() error {
	w.query = ""
	return nil
}

func (w *work) dropEmptyPairs() error {
	return w.dropPairs(func(name, _ string, bare bool) bool { return bare && name == "" })
}

func (w *work) completeParams() error {
	return w.editQuery(func(pairs []string) []string {
		for i, pair := range pairs {
			if !strings.Contains(pair, "=") {
				pairs[i] = pair + "="
			}
		}
		return pairs
	})
}

func (w *work) stripTracking() error {
	return w.dropPairs(func(name, value string, _ bool) bool { return w.lists.tracking.matches([]byte(name), []byte(value)) })
}

func (w *work) stripSessionIDs() error {
	if w.path != "" {
		w.path = w.lists.stripPathSessions(w.path)
	}
	return w.editQuery(func(pairs []string) []string {
		kept := pairs[:0]
		for _, pair := range pairs {
			if left, some := w.lists.stripSessions(pair); some {
				kept = append(kept, left)
			}
		}
		return kept
	})
}

func (w *work) scopedParams() error {
	drops := w.params.scopesFor([]byte(w.host), []byte(w.path))
	if len(drops) == 0 {
		return nil
	}
	return w.dropPairs(func(name, _ string, _ bool) bool { return dropsParam(drops, []byte(name)) })
}

func (w *work) dropEmptyParams() error {
	return w.dropPairs(func(_, value string, bare bool) bool { return !bare && value == "" })
}

// sortQuery sorts by name, decoded as a form and escaped again as RFC 5849 3.6 does. Parameters of
// one name keep their order.
func (w *work) sortQuery() error {
	return w.sortPairs(func(a, b pairKey) int { return cmp.Compare(a.name, b.name) })
}

// sortValues sorts the parameters of one name, which sort-query has put together: by value, decoded
// and escaped in the same way, then by text. Without sort-query, all parameters keep their places.
func (w *work) sortValues() error {
	if !w.on.has(rSortQuery) {
		return nil
	}
	return w.sortPairs(func(a, b pairKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.value, b.value), cmp.Compare(a.text, b.text))
	})
}

func (w *work) sortPairs(compare func(a, b pairKey) int) error {
	return w.editQuery(func(pairs []string) []string {
		keys := make([]pairKey, len(pairs))
		for i, pair := range pairs {
			keys[i] = keyOf(pair)
		}
		slices.SortStableFunc(keys, compare)
		for i := range keys {
			pairs[i] = keys[i].text
		}
		return pairs
	})
}

type pairKey struct{ name, value, text string }

func keyOf(pair string) pairKey {
	name, value, _ := strings.Cut(pair, "=")
	return pairKey{oauthEscape(name), oauthEscape(value), pair}
}

func oauthEscape(s string) string {
	var b []byte
	for _, c := range []byte(unescape(strings.ReplaceAll(s, "+", " "))) {
		if isUnreserved[c] {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return string(b)
}

func (w *work) dropEmptyQuery() error {
	if w.query == "?" {
		w.query = ""
	}
	return nil
}

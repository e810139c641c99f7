package audit

import "net/url"

// Resolve makes the target of a redirect absolute; "" stays "".
func Resolve(base, target string) string {
	if target == "" {
		return ""
	}
	b, err := url.Parse(base)
	if err != nil {
		return target
	}
	t, err := b.Parse(target)
	if err != nil {
		return target
	}
	return t.String()
}

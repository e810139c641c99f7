package audit

import "github.com/firstseen/firstseen/canon"

// Resolve makes the target of a redirect absolute; "" stays "", and a target whose base is no URL stays as it is.
func Resolve(base, target string) string {
	b, err := canon.ParseBase(base)
	if target == "" || err != nil {
		return target
	}
	return b.Resolve(target)
}

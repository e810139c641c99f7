package canon

import "fmt"

// Qiita is the default profile.
func Qiita() *Profile {
	return &Profile{name: "qiita", version: 1, engine: funcEngine{rule: "qiita", f: func(raw string) (string, error) {
		return "", fmt.Errorf("cannot canonicalize; not built yet: %w", ErrURL)
	}}}
}

// WHATWG is the WHATWG serialization.
func WHATWG() *Profile {
	return &Profile{name: "whatwg", version: 1, engine: Qiita().engine}
}

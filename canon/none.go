package canon

// None is being written.
func None() *Profile { return Qiita() }

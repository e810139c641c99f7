package canon

// SURT is being written.
func SURT() *Profile { return Qiita() }

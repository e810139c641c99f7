package canon

// HashedN is being written.
func HashedN() *Profile { return Qiita() }

// HashedP is being written.
func HashedP() *Profile { return Qiita() }

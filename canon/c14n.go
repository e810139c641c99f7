package canon

// C14N is being written.
func C14N() *Profile { return Qiita() }

package canon

// SafeBrowsing is being written.
func SafeBrowsing() *Profile { return Qiita() }

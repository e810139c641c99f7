package canon

// Scrapy is being written.
func Scrapy() *Profile { return Qiita() }

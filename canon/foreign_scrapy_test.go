package canon

import "testing"

func TestScrapyIsW3lib(t *testing.T) { checkOracle(t, "scrapy", Scrapy(), noException) }

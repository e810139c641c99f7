module github.com/firstseen/firstseen/cmd/internal/tools/rivals/canon

go 1.26.8

require (
	github.com/PuerkitoBio/purell v1.2.1
	github.com/firstseen/firstseen v0.0.0
	github.com/nlnwa/whatwg-url v0.6.2
)

require (
	github.com/bits-and-blooms/bitset v1.20.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/firstseen/firstseen => ../../../../..

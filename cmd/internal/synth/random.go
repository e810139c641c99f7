package synth

// The tags keep apart the random numbers drawn for different purposes.
const (
	tagOrder = iota + 1
	tagName
	tagPage
	tagLinks
	tagTarget
	tagVariant
	tagHolds
	tagTwin
	tagDigest
	tagVolatile
	tagCapture
	tagMirror
	tagParam
	tagRedirect
	tagSection
)

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash draws the number of a purpose and two counters.
func (w *Web) hash(tag int, a, b uint64) uint64 {
	x := mix(w.opt.Seed*0x9e3779b97f4a7c15 + uint64(tag)*0xd1342543de82ef95)
	x = mix(x ^ a*0x9e3779b97f4a7c15)
	return mix(x + b*0x632be59bd9b4e019)
}

// unit maps a hash to [0,1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// again draws the next number after h.
func again(h uint64) uint64 { return mix(h + 0x9e3779b97f4a7c15) }

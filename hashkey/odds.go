package hashkey

import "math"

// CollisionOdds returns the probability, 0 to 1, that among n different inputs at least two share a
// hash of the given width in bits. It is the birthday bound 1 - exp(-n(n-1)/2^(bits+1)), with a
// relative error of about n/2^bits.
func CollisionOdds(n uint64, bits int) float64 {
	return -math.Expm1(-ExpectedCollisions(n, bits))
}

// ExpectedCollisions returns the mean number of pairs that share a hash of the given
// width in bits among n different inputs: n(n-1)/2^(bits+1). While it is small it is
// also the mean number of URLs a crawler that trusts the hash would lose.
func ExpectedCollisions(n uint64, bits int) float64 {
	if n < 2 {
		return 0
	}
	return math.Ldexp(float64(n)*float64(n-1), -bits-1)
}

//go:build !race

package canon

const stride = 1

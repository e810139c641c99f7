//go:build race

package canon

// stride: under the race detector, which takes ten times as long and looks for
// something else, the long lists are looked at every so many URLs only.
const stride = 16

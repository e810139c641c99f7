package seenindex

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages, as look-ups are spread over all of b. The
// kernel may not have them; then the pages are small.
func adviseHuge(b []byte) {
	if len(b) >= maxSlab {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}

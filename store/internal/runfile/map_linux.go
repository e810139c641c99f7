package runfile

import "golang.org/x/sys/unix"

const adviceCold = unix.MADV_COLD

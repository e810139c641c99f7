//go:build !unix

package frontier

import "time"

// cpuTime isn't known here.
func cpuTime() time.Duration { return 0 }

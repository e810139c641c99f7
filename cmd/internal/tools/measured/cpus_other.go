//go:build !linux

package measured

import (
	"errors"
	"os/exec"
)

// CPUs are numbers of processors. None stands for all of them.
type CPUs []int

func (c CPUs) start(cmd *exec.Cmd) error {
	if len(c) > 0 {
		return errors.New("cannot choose processors on this system")
	}
	return cmd.Start()
}

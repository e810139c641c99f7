//go:build !linux

package rediscluster

import (
	"errors"
	"os"
	"syscall"
)

const supported = false

func dieWithParent() *syscall.SysProcAttr { return nil }
func pause(*os.Process) error             { return errors.ErrUnsupported }
func resume(*os.Process) error            { return errors.ErrUnsupported }

package measured

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs are numbers of processors. None stands for all of them.
type CPUs []int

// String returns the numbers with commas.
func (c CPUs) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint([]int(c)), "[]"), " ", ",")
}

// Split returns the processors of this process in two halves. Both are the same processor if
// there is one.
func Split() (first, second CPUs, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, nil, fmt.Errorf("cannot read the processors of this process: %w", err)
	}
	var all CPUs
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	if len(all) == 1 {
		return all, all, nil
	}
	return all[:len(all)/2], all[len(all)/2:], nil
}

func (c CPUs) set() *unix.CPUSet {
	var set unix.CPUSet
	for _, i := range c {
		set.Set(i)
	}
	return &set
}

// start starts a command on the processors.
func (c CPUs) start(cmd *exec.Cmd) error {
	if len(c) == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, c.set()) // of this thread, which the command inherits
	}
	if err != nil {
		return fmt.Errorf("cannot choose processors %v: %w", c, err)
	}
	return errors.Join(cmd.Start(), unix.SchedSetaffinity(0, &before))
}

// Pin keeps this process on the processors.
func (c CPUs) Pin() error {
	return eachThread(func(tid int) error { return unix.SchedSetaffinity(tid, c.set()) })
}

// YieldToParent makes the processors run this process only when they have nothing else to do: a process
// of the lowest nice value still delays others by some milliseconds.
func YieldToParent() error {
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	return eachThread(func(tid int) error { return unix.SchedSetAttr(tid, &idle, 0) })
}

// eachThread calls do with each thread of this process. Later threads inherit its settings.
func eachThread(do func(tid int) error) error {
	for range 2 { // a thread may start another during the first
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err == nil {
				err = do(tid)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) { // else it has ended
				return fmt.Errorf("cannot schedule thread %s: %w", t.Name(), err)
			}
		}
	}
	return nil
}

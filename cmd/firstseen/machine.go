package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// size is the value of a flag: bytes, as 512M or 2GiB.
type size int64

var units = []struct {
	suffix string
	shift  uint
}{{"T", 40}, {"G", 30}, {"M", 20}, {"K", 10}, {"", 0}}

func (s *size) Set(text string) error {
	n, err := parseSize(text)
	if err == nil {
		*s = size(n)
	}
	return err
}

// parseSize reads a number of bytes, more than 0, with or without a unit.
func parseSize(text string) (int64, error) {
	number := strings.ToUpper(strings.TrimSpace(text))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "I")
	for _, u := range units {
		digits, ok := strings.CutSuffix(number, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > (1<<62)>>u.shift {
			break
		}
		return n << u.shift, nil
	}
	return 0, fmt.Errorf("got %q; want bytes, as 512M or 2G", text)
}

// byteCount and mebibytes are flags of older days, of which a plain number is a number of bytes, or of MiB; with a unit it
// means what it says.
type (
	byteCount int64
	mebibytes int64
)

func (b *byteCount) Set(text string) error { return setSize((*int64)(b), text, 1) }
func (b *byteCount) Type() string          { return "size" }
func (b *byteCount) String() string        { return strconv.FormatInt(int64(*b), 10) }

func (m *mebibytes) Set(text string) error { return setSize((*int64)(m), text, 1<<20) }
func (m *mebibytes) Type() string          { return "size" }
func (m *mebibytes) String() string        { return strconv.FormatInt(int64(*m), 10) }

func (m mebibytes) bytes() int64 { return int64(m) << 20 }

func setSize(to *int64, text string, unit int64) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*to = n
		return nil
	}
	n, err := parseSize(text)
	if err == nil && n%unit != 0 {
		err = fmt.Errorf("got %q; want whole MiB, as 512M or 2G", text)
	}
	if err == nil {
		*to = n / unit
	}
	return err
}

func (s *size) Type() string { return "size" }

func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n > 0 && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.suffix
		}
	}
	return "0"
}

// unknownMemory is the assumed memory of a machine that does not report it.
const unknownMemory = 4 << 30

// machineMemory returns the bytes of memory of the machine, or of the control group that the
// process is in, if it has less.
func machineMemory() int64 {
	total := int64(unknownMemory)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		total = memTotal(string(text), total)
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total
}

// memTotal reads MemTotal of /proc/meminfo.
func memTotal(text string, otherwise int64) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil && kib > 0 {
				return kib << 10
			}
		}
	}
	return otherwise
}

package report

import (
	"fmt"
	"time"
)

// Grouped writes a number with commas between thousands.
func Grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// short writes a number for an axis: 1.5M.
func short(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g%s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprint(n)
}

func bytesText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// clock writes a time as fine as its stretch is.
func clock(at, width int64) string {
	t := time.Unix(at, 0).UTC()
	if width >= 86400 {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04")
}

package archive

import (
	"fmt"
	"strconv"
	"strings"
)

// Statuses is a set of HTTP statuses: whole classes and single ones. The zero value
// has all.
type Statuses struct {
	classes [10]bool
	single  map[int]bool
	some    bool
}

// ParseStatuses reads a set as typed: "2xx,3xx,410", or "all".
func ParseStatuses(s string) (Statuses, error) {
	var set Statuses
	if s == "all" {
		return set, nil
	}
	set.some = true
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if len(part) != 3 || part[0] < '1' || part[0] > '5' {
			return Statuses{}, fmt.Errorf("cannot read statuses; got %q; want such as 2xx,3xx,410, or all", s)
		}
		if part[1:] == "xx" {
			set.classes[part[0]-'0'] = true
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return Statuses{}, fmt.Errorf("cannot read statuses; got %q; want such as 2xx,3xx,410, or all", s)
		}
		if set.single == nil {
			set.single = map[int]bool{}
		}
		set.single[n] = true
	}
	return set, nil
}

// Take reports whether a status is in the set.
func (s Statuses) Take(status int) bool {
	if !s.some {
		return true
	}
	class := status / 100
	return class > 0 && class < len(s.classes) && s.classes[class] || s.single[status]
}

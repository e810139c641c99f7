package logs

import (
	"strconv"
	"strings"
	"time"
)

// parseS3 reads a line of the server access log of S3 ("Amazon S3 server access log
// format"). Older logs end before the host, which is then made of the bucket's name.
//
//	owner bucket [time] ip requester id operation key "request" status error sent size
//	total turnaround "referer" "agent" version host-id signature cipher auth host tls …
func parseS3(text string, emit func(Record)) error {
	f := columns(nil, text)
	if len(f) == 0 {
		return isBlankLine
	}
	if len(f) < 17 || !strings.Contains(f[6], ".") {
		return bad("got %d columns; want a line of the access log of S3", len(f))
	}
	r := Record{Time: layoutTime(accessTime, f[2]), Length: number(f[11]), Via: given(f[15])}
	if r.Time.IsZero() {
		return bad("got time %q; want one as in [06/Feb/2026:00:00:38 +0000]", f[2])
	}
	base := "http://" + f[1] + ".s3.amazonaws.com"
	if len(f) > 22 && f[22] != "-" {
		if !isHost(f[22]) {
			return bad("got host %q; want a line of the access log of S3", f[22])
		}
		if base = "http://" + f[22]; f[20] != "-" {
			base = "https://" + f[22]
		}
	}
	r.URL, r.Kind = requestURL(base, f[8])
	r.answered(f[9])
	emit(r)
	return nil
}

// parseELB reads a line of the access log of a Classic or Application Load Balancer, which
// has the type of the connection before the time. Requests hold the whole URL.
//
//	[type ]time balancer client target 3×seconds status target-status received sent "request" "agent" …
func parseELB(text string, emit func(Record)) error {
	f := columns(nil, text)
	if len(f) == 0 {
		return isBlankLine
	}
	if layoutTime(time.RFC3339Nano, f[0]).IsZero() {
		f = f[1:]
	}
	if len(f) < 13 {
		return bad("got %d columns; want a line of the access log of a load balancer", len(f))
	}
	r := Record{Time: layoutTime(time.RFC3339Nano, f[0]), Length: number(f[10])}
	if _, err := strconv.ParseFloat(f[4], 64); r.Time.IsZero() || err != nil || !strings.Contains(f[2], ":") {
		return bad("the line is not of the access log of a load balancer")
	}
	r.URL, r.Kind = requestURL("", f[11])
	if strings.HasPrefix(r.URL, "/") {
		r.Kind = Other // of no known host
	}
	r.answered(f[7])
	emit(r)
	return nil
}

// columns cuts a line at blanks, but for those between quotes or brackets, which it takes off, and appends the cells. An address in
// brackets keeps them.
func columns(cells []string, line string) []string {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return cells
		}
		cell, rest, ok := line, "", false
		switch line[0] {
		case '"':
			if end := 1 + quoteEnd(line[1:]); end > 0 {
				cell, rest, ok = line[1:end], line[end+1:], true
			}
		case '[':
			if cell, rest, ok = strings.Cut(line[1:], "]"); ok && isAddress(cell) {
				cell = "[" + cell + "]"
			}
		}
		if !ok || rest != "" && rest[0] != ' ' {
			cell, rest, _ = strings.Cut(line, " ")
		}
		cells, line = append(cells, cell), rest
	}
}

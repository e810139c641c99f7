package main

import (
	"strings"
	"testing"
)

// TestBadValues checks that a bad value of a flag is shown with what is wanted.
func TestBadValues(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--delay", "5"}, `cannot run serve: --delay: got "5"; want a duration, such as 30s or 5m`},
		{[]string{"serve", "--attempts", "x"}, `cannot run serve: --attempts: got "x"; want a whole number`},
		{[]string{"serve", "--max-held", "99999999999999999999"}, `cannot run serve: --max-held: got "99999999999999999999"; want a smaller number`},
		{[]string{"serve", "--max-expired", "1,x"}, `cannot run serve: --max-expired: got "1,x"; want a number, or two with a comma`},
		{[]string{"serve", "--also-seen", "c="}, `cannot run serve: --also-seen: got "c="; want FILE or CRAWL=FILE`},
		{[]string{"canon", "--json=maybe"}, `cannot run canon: --json: got "maybe"; want true or false`},
		{[]string{"uniq", "--memory", "lots"}, `cannot run uniq: --memory: got "lots"; want bytes, as 512M or 2G`},
	} {
		status, _, got := runCommand(t, c.args...)
		if line, _, _ := strings.Cut(got, "\n"); status != statusMisuse || line != "firstseen: "+c.want {
			t.Errorf("%v: got status %d, %s; want %s", c.args, status, line, c.want)
		}
	}
}

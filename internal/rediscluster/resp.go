package rediscluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ReplyError is an error that a server answered.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// conn is a connection for administration.
type conn struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to a server; ctx ends the dialling and, by its deadline, every
// call. Without a deadline each connection lives for a minute at most.
func dial(ctx context.Context, addr, password string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	if err := c.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	rc := &conn{c, bufio.NewReader(c)}
	if password == "" {
		return rc, nil
	}
	if _, err := rc.do("AUTH", password); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return rc, nil
}

// do sends a command and reads its reply: a string, an int64, nil or a []any of
// these.
func (c *conn) do(args ...string) (any, error) {
	if _, err := c.Write(appendCommand(nil, args...)); err != nil {
		return nil, err
	}
	return c.reply()
}

func appendCommand(dst []byte, args ...string) []byte {
	dst = fmt.Appendf(dst, "*%d\r\n", len(args))
	for _, a := range args {
		dst = fmt.Appendf(dst, "$%d\r\n%s\r\n", len(a), a)
	}
	return dst
}

func (c *conn) reply() (any, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("cannot read reply; got an empty line; want RESP")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, ReplyError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cannot read reply %q: %w", line, err)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		return c.bulk(int(n))
	case kind == '*':
		return c.array(int(n))
	}
	return nil, fmt.Errorf("cannot read reply; got %q; want RESP", line)
}

func (c *conn) bulk(n int) (any, error) {
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func (c *conn) array(n int) (any, error) {
	all := make([]any, n)
	for i := range all {
		v, err := c.reply()
		var refused ReplyError
		if errors.As(err, &refused) {
			v, err = refused, nil
		}
		if err != nil {
			return nil, err
		}
		all[i] = v
	}
	return all, nil
}

//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// request is a request over HTTP/1.1; a body of negative length never ends.
func request(method, path, token, body string, length int) string {
	head := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n"
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	if method == "POST" && length < 0 {
		return head + "Transfer-Encoding: chunked\r\n\r\n"
	}
	if method == "POST" {
		head += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return head + "\r\n" + body
}

// closed waits until the daemon ends a connection, of which nothing is read.
func (a *attacker) closed(conn net.Conn) error {
	_, err := writeAll(conn, nil, time.Second, func() bool { return a.ctx.Err() == nil })
	return err
}

// writeAll writes what the daemon takes, for as long as more says, and then a space now
// and then, to learn when the connection has ended.
func writeAll(conn net.Conn, b []byte, each time.Duration, more func() bool) (n int, err error) {
	for more() {
		if len(b) == 0 {
			time.Sleep(each)
			if one := make([]byte, 1); isClosed(conn, one) {
				return n, io.EOF
			}
			continue
		}
		m, err := conn.Write(b)
		if n += m; err != nil {
			return n, err
		}
		b = b[m:]
	}
	return n, nil
}

// isClosed reports whether the connection has ended, reading one byte at most.
func isClosed(conn net.Conn, one []byte) bool {
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := conn.Read(one)
	timeout, ok := err.(net.Error)
	return err != nil && !(ok && timeout.Timeout())
}

// stalledPages asks for a page as often as fits, and reads nothing.
func stalledPages(a *attacker, i int) error {
	conn, err := a.dial(a.http_, i)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Repeat(request("GET", "/openapi.json", "", "", 0), 200)); err != nil {
		return err
	}
	return a.closed(conn)
}

// stalledRoutes are requests of every route.
func stalledRoutes() []string {
	lines := strings.Repeat(`{"url":"http://stalls.example/"}`+"\n", 4000)
	list := []string{}
	for _, path := range []string{"/metrics", "/v1/stats", "/v1/history", "/v1/queues", "/v1/captures", "/v1/explain?url=http://a.example/", "/openapi.json", "/"} {
		list = append(list, strings.Repeat(request("GET", path, attackerToken, "", 0), 300))
	}
	for path, body := range map[string]string{"/v1/urls": lines, "/v1/seen": lines,
		"/v1/import": strings.Repeat(`{"discovered":{"info":{"url":"http://stalls.example/"}}}`+"\n", 4000),
		"/v1/lease":  `{"crawl":"large","max":4096,"lease_seconds":1}`, "/v1/lease?": `{"crawl":"large","max":4096,"wait_seconds":60}`,
		"/v1/done": `{"leases":[` + strings.Repeat(`{"key":"0123456789abcdef0123456789abcdef","token":"1"},`, 4000) + `{"key":"0123456789abcdef0123456789abcdef","token":"1"}]}`} {
		list = append(list, strings.Repeat(request("POST", path, attackerToken, body, len(body)), 50))
	}
	return list
}

// stalledAnswers asks for the answers of every route, and reads none.
func stalledAnswers(a *attacker, i int) error {
	conn, err := a.dial(a.http_, i)
	if err != nil {
		return err
	}
	defer conn.Close()
	list := stalledRoutes()
	if _, err := io.WriteString(conn, list[i%len(list)]); err != nil {
		return err
	}
	return a.closed(conn)
}

// halfSentBodies begins a body of 4 MiB.
func halfSentBodies(a *attacker, i int) error {
	conn, err := a.dial(a.http_, i)
	if err != nil {
		return err
	}
	defer conn.Close()
	path := []string{"/v1/done", "/v1/urls", "/v1/import"}[i%3]
	half := request("POST", path, attackerToken, `{"url":"`+strings.Repeat("x", 3<<20), 4<<20)
	if _, err := io.WriteString(conn, half); err != nil {
		return err
	}
	return a.closed(conn)
}

// idleConnection says nothing, half of a request, or what gRPC begins with.
func idleConnection(a *attacker, i int) error {
	addr := a.http_
	if i%2 == 0 {
		addr = a.grpc
	}
	conn, err := a.dial(addr, i)
	if err != nil {
		return err
	}
	defer conn.Close()
	begin := []string{preface + emptySettings, "", preface + emptySettings, "GET /v1/stats HTTP/1.1\r\nHost: local"}[i%4]
	if _, err := io.WriteString(conn, begin); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	select { // 20,000 at once would be a test of the kernel
	case <-a.ctx.Done():
	case <-time.After(4 * time.Second):
	}
	return err
}

// probes asks for readiness as fast as it is answered.
func probes(a *attacker, i int) error {
	conn, err := a.dial(a.http_, i)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
	ask := strings.Repeat(request("GET", "/readyz", "", "", 0), 100)
	for {
		if _, err := io.WriteString(conn, ask); err != nil {
			return err
		}
	}
}

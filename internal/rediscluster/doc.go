// Package rediscluster starts real Redis servers for tests and benchmarks: one server, or a cluster
// of masters and replicas, each a process on loopback with a directory of its own.
//
// A fake proves nothing about a failover, so the tests use the program that operators run:
// redis-server, found on PATH. A test can kill, pause, restart and promote a node, cut it off from
// the others, and move slots while clients work. If redis-server is missing, the tests are skipped
// with a message.
//
// The package sends its few administrative commands itself, so that its results do not depend on
// the client under test.
//
// A server ends with the process that started it, even if that process is killed. This works only on
// Linux; elsewhere Start returns an error.
package rediscluster

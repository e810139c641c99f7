// Package rediscluster starts real Redis servers for tests and benchmarks: one
// alone, or a cluster of masters and replicas, each a process of its own on
// loopback with a directory of its own.
//
// A fake proves nothing about a failover, so what we claim of one is tested on
// the program that operators run: Debian's redis-server, found on PATH. A node
// can be killed, paused, restarted, promoted and cut off from the others, and slots
// can be moved while clients work. Where redis-server is missing, tests are
// skipped and say so.
//
// The package speaks RESP itself, the few lines that administration needs: so
// nothing it reports goes through the client that is under test.
//
// A server dies with the process that started it, however that ends (Linux
// only: elsewhere Start refuses).
package rediscluster

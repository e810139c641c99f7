// Package server is the frontier daemon: it serves one [frontier.Frontier] by the URLFrontier protocol over
// gRPC, and by an HTTP interface.
//
// The server has no crawling policy of its own. It adds what a network service needs: it collects single messages
// into batches, so that they share a durable commit; it bounds the resources of every client; it
// checks tokens; it exports metrics; and it drains before it ends. When it answers OK, the URL is synced
// to disk.
//
// The server enforces its bounds by not reading. TCP slows a client that sends faster
// than the disk writes, or that does not read its answers. For each stream the server buffers at most
// a window of items, one message that is not decoded yet, and the buffers of the transport.
// Config.MaxInHand bounds the decoded items of all clients together. Writes are refused only if
// the disk is nearly full. While several clients work, each has few URLs in progress (turns.go).
//
// It consists of rooms, from the lowest up. Each has a type that embeds the one below, so that nothing reaches upwards; a
// test holds the files to them.
//
//	gate       who calls, and what that client may do and how much: config, access (tokens, scopes, rates), admission
//	           (places, memory, turns), tls, counters
//	service    the frontier as calls reach it: guard (crawls of a token), offers (from messages and lines to the
//	           frontier; decode reads messages), inbox (from streams to batches), leases, settings (of queues, the pause of all, what is
//	           forgotten), queuestate, storewatch
//	metrics    /metrics, the curves of an hour, the last judgement of the rules
//	httpAPI    the HTTP interface: routes with what openapi.json says of them, bodies, lines, the dashboard
//	grpcAPI    the calls of URLFrontier
//	Server     its life: listen, serve, drain; and Local, the same handlers for a command on a store
package server

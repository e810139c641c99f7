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
//	server.go, config.go, listen.go, drain.go                  the life of a server
//	scope.go, tokens.go, auth.go, tls.go, limits.go, disk.go   what each client may do
//	inbox.go, pump.go                                          from streams to batches
//	codec.go, decode.go, fields.go, offer.go                   fast paths for frequent messages
//	puturls.go, geturls.go, steer.go, forget.go, list.go       the gRPC calls
//	http*.go, openapi.json                                     the HTTP interface
//	counters.go, metrics.go                                    the counters of /metrics and the dashboard
package server

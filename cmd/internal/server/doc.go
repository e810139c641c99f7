// Package server is the frontier daemon: the URLFrontier protocol over gRPC
// and a small HTTP interface, on one [frontier.Frontier].
//
// What it adds to the frontier is what a network needs, and no crawling
// policy: batching of single messages so that a durable commit is shared by
// many, bounds on everything a client can make it hold, scopes, metrics, and
// an orderly end. An OK on the wire means: on disk, synced.
//
// The server enforces its bounds by not reading. TCP slows a client that sends faster
// than the disk writes, or that does not read its answers. The server buffers at most
// a window of items of it, one message that isn't decoded yet, and the transport's
// buffers. Config.MaxInHand bounds the decoded items of all clients together. Writes are
// refused only if the disk is nearly full. While several clients work, each has few
// URLs in progress, see turns.go.
//
//   - server.go, config.go, listen.go, drain.go: the life of a server
//   - scope.go, tokens.go, auth.go, tls.go, limits.go, disk.go: what each client may do
//   - inbox.go, pump.go: how a stream becomes batches
//   - codec.go, decode.go, fields.go, interner.go, offer.go: messages that come by the million
//   - puturls.go, geturls.go, steer.go, forget.go, list.go: the calls
//   - http*.go, openapi.json: the HTTP interface
//   - counters.go, metrics.go: what /metrics and the dashboard both read
package server

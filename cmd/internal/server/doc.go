// Package server is the frontier daemon: the URLFrontier protocol over gRPC
// and a small HTTP interface, on one [frontier.Frontier].
//
// What it adds to the frontier is what a network needs, and no crawling
// policy: batching of single messages so that a durable commit is shared by
// many, bounds on everything a client can make it hold, scopes, metrics, and
// an orderly end. An OK on the wire means: on disk, synced.
//
// Bounds work by not reading. A client that sends faster than the disk takes,
// or does not read its answers, is slowed by TCP, and what it has in the
// server is at most a window of items, one message that isn't decoded yet, and
// the transport's buffers. Of all clients together, what is decoded is bounded
// by Config.MaxInHand. Only when the disk is nearly full are writes refused.
//
//   - server.go, config.go, listen.go, drain.go: the life of a server
//   - scope.go, tokens.go, auth.go, tls.go, limits.go, disk.go: who may do how much
//   - inbox.go, pump.go: how a stream becomes batches
//   - codec.go, decode.go, fields.go, interner.go, offer.go: messages that come by the million
//   - puturls.go, geturls.go, steer.go, forget.go, list.go: the calls
//   - http*.go, openapi.json: the HTTP interface
//   - counters.go, metrics.go: what /metrics and the dashboard both read
package server

// Package frontierpb is a Go client and server interface of the URLFrontier
// gRPC protocol, release 2.6: package urlfrontier, service URLFrontier, 19
// calls. [NewURLFrontierClient] talks to `firstseen serve`, and to a
// crawler-commons URLFrontier, whose wire format it shares.
//
// The stubs are generated from urlfrontier.proto, which is also where each
// message is explained; generate.sh renews them.
package frontierpb

//go:generate sh generate.sh

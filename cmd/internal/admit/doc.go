// Package admit divides the resources of a server among its clients.
//
// A client is a token, or an address if no token is required.
//
//	Pool      divides an amount among clients
//	Listener  bounds connections, in all and for each address
//	Wire      reads the HTTP/2 frames of a connection, and so knows which calls are open and how many
//	          bytes of incomplete messages the server must buffer
//	Work      bounds the work in progress of each client
//	Pace      delays events that cost the server more than the client
package admit

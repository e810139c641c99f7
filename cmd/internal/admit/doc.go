// Package admit decides how much of a server each of its clients may have.
//
// A client is a token, or an address where no token was given. A [Pool] divides an amount
// among clients. A [Listener] bounds connections, in all and for each address. A [Wire]
// watches the HTTP/2 frames of a connection, and so knows which of its calls are open and
// what the server has to keep of messages that are not whole yet.
package admit

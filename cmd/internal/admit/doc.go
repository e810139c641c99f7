// Package admit decides how much of a server each of its clients may have.
//
// A client is a token, or an address where no token was given. A [Pool] divides an amount
// among clients. A [Listener] bounds connections, in all and for each address. A [Wire]
// watches the HTTP/2 frames of a connection, and so knows which of its calls are open and
// how many bytes the server has to buffer of messages that are not complete yet. A [Work] bounds
// the work that each client has in progress, and a [Pace] slows down events that cost the server
// more than the client.
package admit

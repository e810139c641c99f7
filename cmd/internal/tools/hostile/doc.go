// Command hostile attacks a daemon and measures what an honest client notices.
//
//	hostile --binary bin/firstseen [--length 1m] [--attacks name,name]
//
// For each attack it starts a daemon with tokens and default limits. A client with a token
// adds and leases over gRPC and HTTP, each 50 times a second: first alone, then under the
// attack. The report has the 99th percentile of both and their ratio, the calls that
// failed, and the daemon's peak memory under the attack.
//
// Each time counts from when the call was due, so that a call that is late makes those
// behind it late, too. Attackers have no token, or another one than the client. They run on
// the same machine, in processes of the lowest priority: in life they bring their own
// processors.
package main

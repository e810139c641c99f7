// Command hostile attacks a daemon and measures what an honest client notices.
//
//	hostile --binary bin/firstseen [--length 1m] [--alone 1m] [--rounds 6] [--attacks name,name]
//
// For each attack it starts a daemon with tokens and default limits. A client with a token
// adds and leases over gRPC and HTTP, each 50 times a second: first alone, then under the
// attack, several times in turns. The report has the calls that failed, and the daemon's
// processor time and peak memory. It also has the 99th percentile of the calls of a turn, as
// the median of the turns alone and of those attacked, and their ratio. Before each turn the
// daemon has become idle: a fill ends with compactions that would slow down the
// client alone.
//
// These calls share connections that stay open. Beside them the client adds and leases 5 times
// a second over a new connection for each call. The report has these calls apart: a new
// connection waits in the queue of the kernel behind those of attackers, before the server
// sees it.
//
// Each time counts from when the call was due, so that a late call also makes the calls
// after it late. Attackers have no token, or another one than the client.
//
// On a virtual machine the times leave out calls that were due while the host ran other
// machines ("stolen time"); if it always does, those of the three quarters of the time with most of it.
// The report has how many calls there were and how many were timed.
//
// Each call waits for a sync of the disk. If other programs write to the same disk, set TMPDIR
// to a tmpfs: then the store is in memory, and only the processor counts.
//
// In life, attackers bring their own processors; here they must not take those of the
// daemon. So the daemon runs on one half of the processors of the machine, with and without
// an attack. The client and the attackers share the other half, where the attackers run only
// when the client has nothing to do (SCHED_IDLE). The ratio compares the daemon with itself,
// on half of the machine.
package main

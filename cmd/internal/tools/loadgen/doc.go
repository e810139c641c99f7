// Command loadgen drives servers of the URLFrontier protocol with one load and
// reports what they did: ours, and the peer when its jar is given.
//
//	loadgen --ours bin/firstseen [--peer urlfrontier-service.jar]
//
// The load is made by a counter-based generator, so that every run and every
// server sees the same: a million sends of URLs of 10,000 hosts, few hosts
// having most of them, of which 70 in 100 repeat an earlier one. Servers run
// one after the other on the same machine as the load, which takes its share
// of the processors: compare the two, and the processor time per million URLs,
// not the rates with those of another day.
package main

// Command loadgen runs servers of the URLFrontier protocol under the same load and reports their
// rates: ours, and URLFrontier if its jar is given.
//
//	loadgen --ours bin/firstseen [--peer urlfrontier-service.jar]
//
// A counter-based generator makes the load, so every run and every server gets the same URLs: a
// million sends of URLs of 10,000 hosts, of which a few have most URLs; 70 of 100 sends repeat an
// earlier one. The servers run in turn, on the same machine as the load, which takes
// its share of the processors. So compare the two servers of one run, and the processor time
// per million URLs; do not compare rates of different days.
//
// With --new-hosts 1000000 it runs ours alone: a URL of each of as many hosts, and beside it as many of one host, by each way in.
package main

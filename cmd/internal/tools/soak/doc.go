//go:build linux

// Command soak runs the daemon for a long time under many kinds of faults, and checks that nothing
// was lost.
//
//	go run ./cmd/internal/tools/soak -length 10m
//
// It starts a real "firstseen serve", feeders, which offer variants of URLs of a generated web, and
// fetchers, which lease and settle them. Each is a process. Meanwhile faults occur at random,
// from a seed: the daemon is killed, a client is killed, the disk fills up and is freed, the clock
// of the store steps forward or back, the rule file is changed and reloaded. In the last
// fifth of the time there are no faults, so that memory can be measured; then the fetchers empty
// the frontier.
//
// The clients write journals, before and after each action. From the journals alone soak checks
// that
//
//   - no page was answered "new" twice;
//   - no page that was answered "new" was lost: each was leased and permanently settled;
//   - at the end the store knows every page that was acknowledged;
//   - no page was leased while another lease of it was valid;
//   - no host was served before its delay was over, by the daemon's own clock;
//   - without faults, heap, goroutines and open files did not grow.
//
// It prints a report in Markdown. The exit status is 1 if a check failed. The disk is a tmpfs, which
// requires the right to mount. Without that right the disk never fills up, and the report
// contains a note about it. The clock is that of a build with the tag soak, which reads
// its error from a file.
//
// "soak day" measures the daemon in a large crawl, and judges it in the same way: see day.go.
package main

//go:build linux

// Command soak runs the daemon for a long time under everything that goes wrong, and proves
// that nothing was lost.
//
//	go run ./cmd/internal/tools/soak -length 10m
//
// Around a real "firstseen serve" it starts feeders, which offer URLs of a made-up web in
// many spellings, and fetchers, which lease them and say what became of each. All are
// processes of their own. While they work, chaos comes by chance from a seed: the daemon is
// killed, a client is killed, the disk fills up and is freed, the clock of the store steps
// forward or back, the rule file is changed and reloaded. The last fifth of the time is
// calm, so that memory can be watched; then the fetchers empty the frontier.
//
// What the clients saw they write to journals, before they act on it and after. From the
// journals alone it is judged:
//
//   - no page was told "new" twice;
//   - no page that was told "new" was lost: each was leased, and settled for good;
//   - at the end the store knows every page that was ever acknowledged;
//   - no page was leased while another lease of it was good;
//   - no host was served sooner than its delay, by the daemon's own clock;
//   - while it was calm, heap, goroutines and open files did not grow.
//
// The report goes to standard output, as Markdown; the exit status is 1 if anything of it
// failed. The disk is a tmpfs, which takes the right to mount; without it the disk stays as
// it is, and the report says so. The clock is that of a build with the tag soak, which reads
// its error from a file.
package main

// Command firstseen canonicalizes URLs, reports which of them were seen before, and leases each
// new URL to one crawler at a time.
//
//	firstseen uniq urls.txt
//	firstseen serve --db crawl.db
//
// Subcommands read flags and files, have a package do the work, and print its results. Those on a crawl send the requests of
// the HTTP interface, to a daemon or to its handlers in this process. The exit status:
//
//	0  everything went well
//	1  some input was refused, and the output lists it
//	2  the command was misused
//	3  something failed: a file, the disk, the network
//
// Environment variables also set flags: FIRSTSEEN_PROFILE sets --profile, FIRSTSEEN_LOG_LEVEL
// sets --log-level. A flag on the command line has precedence. Variables do not set flags that
// destroy or replace data, nor --db of commands that measure.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

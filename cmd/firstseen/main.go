// Command firstseen canonicalizes URLs, tells which of them were seen before, and
// serves them to crawlers once.
//
// Each subcommand is a thin shell around a package that can be embedded; it adds
// flags, files and an exit status:
//
//	0  everything went well
//	1  some input was refused, and the output says which
//	2  the command was misused
//	3  something failed: a file, the disk, the network
//
// Flags can also be given as variables of the environment: --profile as
// FIRSTSEEN_PROFILE, --log-level as FIRSTSEEN_LOG_LEVEL. A flag that is given wins.
// Variables don't set flags that destroy or replace something, nor --db of commands
// that measure.
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

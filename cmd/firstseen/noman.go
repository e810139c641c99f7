//go:build !man

package main

import "github.com/spf13/cobra"

// extraCommands is empty but in builds with the tag man.
func extraCommands(*app) []*cobra.Command { return nil }

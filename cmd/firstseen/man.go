//go:build man

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// extraCommands returns the command that writes man pages, in builds with the tag man. The
// program itself does not link the packages that the command needs.
func extraCommands(*app) []*cobra.Command {
	return []*cobra.Command{{
		Use:   "man DIR",
		Short: "Write man pages",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("cannot write man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			root.RemoveCommand(cmd)
			return doc.GenManTree(root, &doc.GenManHeader{Title: "FIRSTSEEN", Section: "1", Source: "firstseen"}, args[0])
		},
	}}
}

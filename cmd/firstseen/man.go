//go:build man

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// extraCommands adds the command that writes man pages, to builds with the tag man: what it
// stands on has no place in the program.
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

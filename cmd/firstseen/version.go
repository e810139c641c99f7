package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
)

// versionInfo has the versions that a key depends on besides the URL: of the rules of the
// profile, and of the Unicode tables.
type versionInfo struct {
	Version        string `json:"version"`
	Revision       string `json:"revision,omitempty"`
	Modified       bool   `json:"modified,omitempty"`
	Go             string `json:"go"`
	Platform       string `json:"platform"`
	Profile        string `json:"profile"`
	ProfileVersion int    `json:"profile_version"`
	Unicode        string `json:"unicode"`
}

func newVersionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, and of the rules that its keys depend on",
		Args:  noArgs,
		RunE: running(func(*cobra.Command, []string) error {
			v := readVersion()
			out := newOutput(a.out)
			if asJSON {
				out.json(v)
			} else {
				out.line(v.text())
			}
			return out.Flush()
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	return cmd
}

func readVersion() versionInfo {
	p := canon.Qiita()
	v := versionInfo{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Profile: p.String(), ProfileVersion: p.Version(), Unicode: p.UnicodeVersion(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) text() string {
	revision := v.Revision
	if v.Modified {
		revision += " (modified)"
	}
	return fmt.Sprintf("firstseen %s %s\nbuilt with %s for %s\nprofile %s, version %d; Unicode %s",
		v.Version, revision, v.Go, v.Platform, v.Profile, v.ProfileVersion, v.Unicode)
}

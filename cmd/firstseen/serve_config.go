package main

import (
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/pflag"
)

// settings are the flags of a daemon, and the file of --config that they were read from.
type settings struct {
	flags *pflag.FlagSet
	given map[string]bool // by the command line or the environment: they have precedence over the file
	file  string          // "" for none
	level string          // the log level, as last read from the file
}

// reload reads the file again. The log level is used at once; the log names the other settings that
// differ from those in force. After an error, nothing changes.
func (s *settings) reload(a *app) error {
	if s.file == "" {
		return nil
	}
	cmd, _, err := newRootCmd(&app{in: a.in, out: io.Discard, err: io.Discard}).Find([]string{"serve"})
	if err == nil {
		err = cmd.ParseFlags(nil) // adds those of all commands
	}
	if err != nil {
		return err
	}
	fresh := cmd.Flags()
	if err := flagsFromFile(fresh, s.given, s.file); err != nil {
		return err
	}
	level, changed := fresh.Lookup("log-level").Value.String(), []string(nil)
	fresh.VisitAll(func(f *pflag.Flag) {
		if have := s.flags.Lookup(f.Name); f.Name != "config" && f.Name != "log-level" && !s.given[f.Name] && have.Value.String() != f.Value.String() {
			changed = append(changed, f.Name)
		}
	})
	if !s.given["log-level"] && level != s.level {
		var l slog.Level
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return fmt.Errorf("cannot use setting log-level; got %q; want debug, info, warn or error", level)
		}
		a.level.Set(l)
		s.level = level
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		a.log.Warn("settings changed that need a restart", "file", s.file, "settings", changed)
	}
	return nil
}

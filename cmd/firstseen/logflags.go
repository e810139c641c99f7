package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// logFlags are the flags for reading logs.
type logFlags struct{ format, base, field, scheme, events, flag string }

func (l *logFlags) add(flags *pflag.FlagSet) {
	l.addFormat(flags)
	l.addEvents(flags)
}

func (l *logFlags) addEvents(flags *pflag.FlagSet) {
	flags.StringVar(&l.events, "events", "auto", "records to count: fetches, links (found, not fetched), all, or auto: fetches for Heritrix, else all")
}

// addFormat adds the flags for what a log looks like.
func (l *logFlags) addFormat(flags *pflag.FlagSet) {
	l.addLook(flags, "format")
	flags.StringVar(&l.base, "base", logs.DefaultBase, "scheme and host for access logs that have only paths")
}

// addKept adds them for a command that keeps the URLs, with a name for --format: a host that is made up would stay.
func (l *logFlags) addKept(flags *pflag.FlagSet, name string) {
	l.addLook(flags, name)
	flags.StringVar(&l.base, "base", "", "scheme and host for access logs that have only paths; default: they are refused")
}

func (l *logFlags) addLook(flags *pflag.FlagSet, name string) {
	l.events, l.flag = "auto", name
	flags.StringVar(&l.format, name, "auto", "format of the input: auto, or one of "+formatList())
	flags.StringVar(&l.field, "url-field", "", `what contains the URL: a field of JSON objects, as request.endpoint, or a column of a table by name or number; default: "url", or the name that the program which wrote them uses`)
	flags.StringVar(&l.scheme, "scheme", "", "scheme for lists and tables of hosts and paths without one, such as https; default: they are refused")
}

func formatList() string {
	var names []string
	for _, f := range logs.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

func (l *logFlags) check() error {
	if l.format != "auto" && !slices.Contains(logs.Formats(), logs.Format(l.format)) {
		return misusef("cannot read logs; got --%s %q; want auto, %s", l.flag, l.format, formatList())
	}
	if !slices.Contains([]string{"auto", "all", "fetches", "links"}, l.events) {
		return misusef("cannot read logs; got --events %q; want auto, all, fetches or links", l.events)
	}
	return nil
}

func (l *logFlags) options() logs.Options {
	o := logs.Options{Events: logs.Choice(l.events), Base: l.base, NeedHost: l.base == "", URLField: l.field, Scheme: strings.TrimSuffix(l.scheme, "://"), Flag: "--" + l.flag}
	if l.format != "auto" {
		o.Format = logs.Format(l.format)
	}
	return o
}

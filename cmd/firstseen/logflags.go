package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/cmd/internal/crawllog"
	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// logFlags are the flags for reading logs.
type logFlags struct{ format, base, field, events, flag string }

func (l *logFlags) add(flags *pflag.FlagSet) {
	l.addFormat(flags)
	l.addEvents(flags)
}

func (l *logFlags) addEvents(flags *pflag.FlagSet) {
	flags.StringVar(&l.events, "events", "auto", "records to count: fetches, links (found, not fetched), all, or auto: fetches for Heritrix, else all")
}

// addFormat adds the flags for what a log looks like.
func (l *logFlags) addFormat(flags *pflag.FlagSet) { l.addFormatAs(flags, "format") }

// addFormatAs adds them with another name for --format.
func (l *logFlags) addFormatAs(flags *pflag.FlagSet, name string) {
	l.events, l.flag = "auto", name
	flags.StringVar(&l.format, name, "auto", "format of the input: auto, or one of "+formatList())
	flags.StringVar(&l.base, "base", crawllog.DefaultBase, "scheme and host for access logs that have only paths")
	flags.StringVar(&l.field, "url-field", "", `field of JSON objects that contains the URL; default: "url", or the name that the program which wrote them uses`)
}

func formatList() string {
	var names []string
	for _, f := range crawllog.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

func (l *logFlags) check() error {
	if l.format != "auto" && !slices.Contains(crawllog.Formats(), crawllog.Format(l.format)) {
		return misusef("cannot read logs; got --%s %q; want auto, %s", l.flag, l.format, formatList())
	}
	if !slices.Contains([]string{"auto", "all", "fetches", "links"}, l.events) {
		return misusef("cannot read logs; got --events %q; want auto, all, fetches or links", l.events)
	}
	return nil
}

func (l *logFlags) options() replay.LogOptions {
	o := replay.LogOptions{Events: replay.Choice(l.events)}
	o.Base, o.URLField = l.base, l.field
	if l.format != "auto" {
		o.Format = crawllog.Format(l.format)
	}
	return o
}

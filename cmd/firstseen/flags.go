package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// What a flag takes stands once, where it is declared: it is checked when it is set, so that the command line, the variables and a
// file of settings refuse the same values in the same words. What the help names of it is made of the same values.

// value is a flag with a check of its own.
type value struct {
	kind string
	set  func(text string) error
	text func() string
}

// Set implements pflag.Value.
func (v *value) Set(text string) error { return v.set(text) }

// Type implements pflag.Value.
func (v *value) Type() string { return v.kind }

// String implements pflag.Value.
func (v *value) String() string { return v.text() }

// oneOf adds a flag that takes one of some words.
func oneOf(fs *pflag.FlagSet, at *string, name, word string, words []string, usage string) {
	*at = word
	fs.Var(&value{"string", func(text string) error {
		if text != word && !slices.Contains(words, text) {
			return fmt.Errorf("got %q; want %s", text, alternatives(words))
		}
		*at = text
		return nil
	}, func() string { return *at }}, name, usage)
}

// hint adds to what a flag of oneOf refuses what else may have been meant.
func hint(fs *pflag.FlagSet, name, text string) {
	v := fs.Lookup(name).Value.(*value)
	set := v.set
	v.set = func(word string) error {
		if err := set(word); err != nil {
			return fmt.Errorf("%w; %s", err, text)
		}
		return nil
	}
}

// alternatives names words to choose from.
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" or ", " or ") + words[last]
}

// special is a value of a number with a meaning of its own.
type special[N any] struct {
	value N
	means string
}

// number adds a flag of a number: word is its default, least and most are its bounds, the latter 0 for none, and special values may be
// beyond them.
func number[N int | int64 | float64 | time.Duration](fs *pflag.FlagSet, at *N, name string, word, least, most N, usage string, specials ...special[N]) {
	*at = word
	show := func(n N) string {
		if n == 0 {
			return "0" // also of a duration
		}
		return fmt.Sprint(n)
	}
	fs.Var(&value{kindOf(word), func(text string) error {
		n, err := parseNumber[N](text)
		if err == nil {
			err = bound(text, n, least, most, specials, show)
		}
		if err == nil {
			*at = n
		}
		return err
	}, func() string { return show(*at) }}, name, usage+meanings(specials, show))
}

func kindOf(n any) string {
	if _, ok := n.(time.Duration); ok {
		return "duration"
	}
	return fmt.Sprintf("%T", n)
}

// parseNumber reads a number. The packages that do so say only that they cannot.
func parseNumber[N int | int64 | float64 | time.Duration](text string) (n N, err error) {
	want := "a whole number"
	switch at := any(&n).(type) {
	case *int:
		var whole int64
		whole, err = strconv.ParseInt(text, 0, strconv.IntSize)
		*at = int(whole)
	case *int64:
		*at, err = strconv.ParseInt(text, 0, 64)
	case *float64:
		*at, err = strconv.ParseFloat(text, 64)
		want = "a number"
	case *time.Duration:
		*at, err = time.ParseDuration(text)
		want = "a duration, such as 30s or 5m"
	}
	if errors.Is(err, strconv.ErrRange) {
		want = "a smaller number"
	}
	if err != nil {
		err = fmt.Errorf("got %q; want %s", text, want)
	}
	return n, err
}

// bound returns an error if a number is out of its bounds and not special.
func bound[N int | int64 | float64 | time.Duration](text string, n, least, most N, specials []special[N], show func(N) string) error {
	if n >= least && (most == 0 || n <= most) || slices.ContainsFunc(specials, func(s special[N]) bool { return s.value == n }) {
		return nil
	}
	want := show(least) + " or more"
	if most != 0 {
		want = show(least) + " to " + show(most)
	}
	for _, s := range specials {
		if s.value < least {
			want += fmt.Sprintf(", or %v %s", s.value, s.means)
		}
	}
	return fmt.Errorf("got %q; want %s", text, want)
}

// meanings are the special values as the end of a help.
func meanings[N any](specials []special[N], show func(N) string) (text string) {
	for i, s := range specials {
		text += []string{"; ", ", "}[min(i, 1)] + show(s.value) + " " + s.means
	}
	return text
}

// sized adds a flag of an amount of memory or disk, with a unit as in 512M or 2GiB, or without one in units of its own; so are word,
// least and the special values. at has bytes.
func sized(fs *pflag.FlagSet, at *int64, name string, unit, word, least int64, usage string, specials ...special[int64]) {
	*at = word * unit
	plain := func(n int64) string { return strconv.FormatInt(n, 10) }
	fs.Var(&value{"size", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			if n, err = parseSize(text); err == nil && n%unit != 0 {
				err = fmt.Errorf("got %q; want whole MiB, as 512M or 2G", text)
			}
			n /= unit
		}
		if err == nil {
			err = bound(text, n, least, 0, specials, func(n int64) string { return sizeText(n * unit) })
		}
		if err == nil {
			*at = n * unit
		}
		return err
	}, func() string { return plain(*at / unit) }}, name, usage+meanings(specials, plain))
}

var units = []struct {
	suffix string
	shift  uint
}{{"T", 40}, {"G", 30}, {"M", 20}, {"K", 10}, {"", 0}}

// parseSize reads a number of bytes, more than 0, with or without a unit.
func parseSize(text string) (int64, error) {
	number := strings.ToUpper(strings.TrimSpace(text))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "I")
	for _, u := range units {
		digits, ok := strings.CutSuffix(number, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > (1<<62)>>u.shift {
			break
		}
		return n << u.shift, nil
	}
	return 0, fmt.Errorf("got %q; want bytes, as 512M or 2G", text)
}

// sizeText writes a number of bytes as parseSize reads it.
func sizeText(n int64) string {
	for _, u := range units {
		if n > 0 && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.suffix
		}
	}
	return "0"
}

// A mistake is a setting that a command refuses beside others, if found is true.
type mistake struct {
	found     bool
	got, want string
}

// refuse returns the first of the mistakes that was found, as misuse: one message names one setting.
func refuse(what string, mistakes ...mistake) error {
	for _, m := range mistakes {
		if m.found {
			return misusef("cannot %s; got %s; want %s", what, m.got, m.want)
		}
	}
	return nil
}

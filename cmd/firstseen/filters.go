package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
)

// filterFlags take URLs out of lists, whatever was seen before.
type filterFlags struct {
	scope     string
	notExt    []string
	withQuery bool

	names []string // of the flags of the filters that open returned, in their order
}

func (f *filterFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.scope, "scope", "", "file of what belongs to the list, a rule a line: example.com, *.example.com, example.com/shop/, https://example.com/*.php$, /api/, 192.0.2.0/24; with ! before it, what does not, whatever else says so")
	fs.StringSliceVar(&f.notExt, "not-ext", nil, "leave out paths that end in these extensions, as jpg,pdf; static stands for those of images, fonts, styles, audio and video: "+strings.Join(staticExtensions, " "))
	fs.BoolVar(&f.withQuery, "with-query", false, "leave out URLs without parameters")
}

// staticExtensions are of files that hold no links and take no parameters. Scripts and documents are none of them.
var staticExtensions = strings.Fields("avif bmp css eot flac flv gif ico jpeg jpg m4a m4v mkv mov mp3 mp4 mpeg mpg ogg otf png scss svg swf tif tiff ttf wav webm webp wmv woff woff2")

// open returns the filters. own reports whether forms are those of p: canonical forms of the profile.
func (f *filterFlags) open(p *canon.Profile, own bool) (filters []uniq.Filter, err error) {
	f.names = nil
	add := func(name string, in func(form []byte) bool) {
		filters, f.names = append(filters, urlForm(p, own, in)), append(f.names, name)
	}
	if f.scope != "" {
		text, err := os.ReadFile(f.scope)
		if err != nil {
			return nil, fmt.Errorf("cannot read the scope: %w", err)
		}
		set, err := canon.ParseURLSet(text)
		if err == nil {
			err = set.Check()
		}
		if err != nil {
			return nil, misusef("--scope %s: %w", f.scope, err)
		}
		add("--scope", func(form []byte) bool {
			_, has := set.Has(form)
			return has
		})
	}
	if len(f.notExt) > 0 {
		not := map[string]bool{}
		for _, name := range f.notExt {
			names := []string{strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "."))}
			if names[0] == "static" {
				names = staticExtensions
			} else if strings.HasPrefix(names[0], "stat") || strings.Trim(names[0], "abcdefghijklmnopqrstuvwxyz0123456789+-_~") != "" || names[0] == "" {
				return nil, misusef("--not-ext: %q is no extension; want some as jpg,pdf, or static", name)
			}
			for _, name := range names {
				not[name] = true
			}
		}
		add("--not-ext", func(form []byte) bool { return !not[extensionOf(form)] })
	}
	if f.withQuery {
		add("--with-query", func(form []byte) bool {
			form, _, _ = bytes.Cut(form, []byte("#"))
			i := bytes.IndexByte(form, '?')
			return i >= 0 && i+1 < len(form)
		})
	}
	return filters, nil
}

// urlForm has a filter asked about the form of a URL that keeps its host and path: that of the default rules, where others may fold or
// rewrite them.
func urlForm(p *canon.Profile, own bool, in func(form []byte) bool) uniq.Filter {
	plain := canon.Qiita()
	same := own && p.String() == plain.String()
	return func(raw, form []byte) bool {
		if !same {
			var space [512]byte
			var err error
			if form, err = plain.AppendCanonical(space[:0], raw); err != nil {
				form = raw
			}
		}
		return in(form)
	}
}

// extensionOf returns the extension of the last segment of a path, in lower case; "" for none.
func extensionOf(form []byte) string {
	if i := bytes.IndexAny(form, "?#"); i >= 0 {
		form = form[:i]
	}
	if _, rest, ok := bytes.Cut(form, []byte("://")); ok {
		if form = rest; bytes.IndexByte(form, '/') < 0 {
			return ""
		}
	}
	form = form[bytes.LastIndexByte(form, '/')+1:]
	if i := bytes.LastIndexByte(form, '.'); i >= 0 {
		return strings.ToLower(string(form[i+1:]))
	}
	return ""
}

// leave returns what says by which filter a URL is left out; nil if there is none. What is no URL stays, to be refused.
func (f *filterFlags) leave() (func(url string) string, error) {
	plain := canon.Qiita()
	filters, err := f.open(plain, true)
	if err != nil || len(filters) == 0 {
		return nil, err
	}
	return func(url string) string {
		form, err := plain.AppendCanonical(nil, []byte(url))
		for i, in := range filters {
			if err == nil && !in([]byte(url), form) {
				return f.names[i]
			}
		}
		return ""
	}, nil
}

// how names what the filters take, for notes on files that are done.
func (f *filterFlags) how() string {
	text, _ := os.ReadFile(f.scope) // open has returned its error
	ext := slices.Sorted(slices.Values(f.notExt))
	return fmt.Sprintf("scope %x not-ext %q with-query %v", sha256.Sum256(text), ext, f.withQuery)
}

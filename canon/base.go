package canon

import (
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// A Base makes relative references absolute: links of a page, the target of a redirect. It is immutable, and safe
// for concurrent use.
//
// A result is a URL to canonicalize, not a canonical form: what a reference says stays as it was found, so
// a profile that is no URL parser sees it too. package net/url would refuse a reference with a stray "%" and
// escape others in its own way. To fetch a result as a browser would, write it by [WHATWG] first.
type Base struct {
	base    whatwg.Parts // in canonical form, without fragment
	special bool         // http, https, ws, wss, ftp or file: "\" is a slash
}

// ParseBase reads an absolute URL of any scheme. Errors are those of [WHATWG].
func ParseBase(url string) (*Base, error) {
	if len(url) > DefaultMaxLength {
		return nil, fault.As(ErrTooLong, "cannot use base; got a URL of %d bytes; want at most %d", len(url), DefaultMaxLength)
	}
	parts, err := whatwg.Parse(url)
	if err != nil {
		return nil, err
	}
	parts.Fragment = ""
	if parts.Slashes == ":/." { // before a path that begins with "//", and no authority
		parts.Slashes, parts.Path = ":", "/."+parts.Path
	}
	return &Base{parts, whatwg.IsSpecial(parts.Scheme)}, nil
}

// Opaque reports whether the base has no hierarchy, as in "mailto:a@b": then only a fragment is relative to it.
func (b *Base) Opaque() bool { return b.base.Slashes == ":" && !strings.HasPrefix(b.base.Path, "/") }

// Resolve returns the absolute URL that a reference stands for (URL Standard, basic URL parser). A reference that has a
// scheme comes back as it is, and so does one that can't be relative to an opaque base. Dot segments are removed
// from the path of a URL with an authority, except a file's, where canonicalizing removes those that leave no drive.
func (b *Base) Resolve(raw string) string {
	ref := whatwg.DropNewlines(whatwg.TrimSpace(raw))
	if n := whatwg.SchemeLen(ref); n >= 0 {
		rest := ref[n+1:]
		if !b.special || !strings.EqualFold(ref[:n], b.base.Scheme) || len(rest) >= 2 && strings.Trim(rest[:2], `/\`) == "" {
			return raw
		}
		ref = rest // "http:page" is relative to a base of the same scheme
	}
	path, rest := whatwg.CutBefore(ref, "?#")
	if b.special {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	p := b.base
	switch {
	case b.Opaque() && !strings.HasPrefix(ref, "#"):
		return raw
	case strings.HasPrefix(path, "//"):
		if path = path[2:]; b.special && b.base.Scheme != "file" {
			path = strings.TrimLeft(path, "/")
		}
		authority, path := whatwg.CutBefore(path, "/")
		return b.base.Scheme + "://" + authority + b.withoutDots(path) + rest
	case strings.HasPrefix(path, "/"):
		p.Path, p.Query = b.withoutDots(b.drive(path[1:])+path), ""
	case path != "":
		p.Path, p.Query = b.withoutDots(b.directory(path)+path), ""
	case strings.HasPrefix(rest, "?"):
		p.Query = ""
	}
	return p.Join() + rest
}

func (b *Base) withoutDots(path string) string {
	if b.base.Scheme == "file" || b.base.Slashes != "://" {
		return path
	}
	return whatwg.WithoutDots(path)
}

// directory returns what stands before a path that is relative to the base: the path of the base to its
// last slash. A path that begins with the letter of a drive is relative to none; and a drive alone is a directory.
func (b *Base) directory(path string) string {
	if b.base.Scheme == "file" && startsWithDrive(path) {
		return "/"
	}
	if drive := b.drive(path); drive != "" && drive == b.base.Path {
		return drive + "/"
	}
	if b.base.Path == "" {
		return "/"
	}
	return b.base.Path[:strings.LastIndexByte(b.base.Path, '/')+1]
}

// drive returns the drive of a file base with its slash, "/C:", unless a path brings its own. "" stands for
// none.
func (b *Base) drive(path string) string {
	if b.base.Scheme != "file" || startsWithDrive(path) || b.base.Path == "" || !startsWithDrive(b.base.Path[1:]) {
		return ""
	}
	return b.base.Path[:len("/C:")]
}

// startsWithDrive reports whether a path begins with a Windows drive letter: "C:" or "C|", then the end or a
// separator.
func startsWithDrive(path string) bool {
	return len(path) >= 2 && 'a' <= path[0]|0x20 && path[0]|0x20 <= 'z' && (path[1] == ':' || path[1] == '|') &&
		(len(path) == 2 || strings.IndexByte(`/\?#`, path[2]) >= 0)
}

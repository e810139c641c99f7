package sxurl

import "strings"

// A Reason is why a URL or a key was refused: the short, stable code for reports. Every error of this package wraps exactly
// one Reason: test for it with errors.Is(err, sxurl.ErrHost), or get it with errors.As.
type Reason string

// Reasons for which a URL has no SXURL.
const (
	// ErrURL means that the input is no URL by the URL Standard.
	ErrURL Reason = "url"
	// ErrScheme means another scheme than https, http and ftp, in a URL or in a key.
	ErrScheme Reason = "scheme"
	// ErrHost means a missing host, or one that is an IP address or no domain name.
	ErrHost Reason = "host"
	// ErrHostLength means a host of more than 255 bytes.
	ErrHostLength Reason = "host-length"
	// ErrLabel means a label of the host that is empty, longer than 63 bytes, or has a
	// hyphen at an end; or a host of one label where two are needed.
	ErrLabel Reason = "label"
	// ErrCharacter means a character in the host that is no letter, digit or hyphen.
	ErrCharacter Reason = "character"
	// ErrJoin means a relative reference to a URL that cannot be a base.
	ErrJoin Reason = "base"
)

// Reasons for which a text or 32 bytes are no SXURL.
const (
	// ErrLength means a text of other than 64 bytes.
	ErrLength Reason = "length"
	// ErrHex means a character that is no hexadecimal digit.
	ErrHex Reason = "hex"
	// ErrVersion means another version than 1 in a key of layout Release02.
	ErrVersion Reason = "version"
	// ErrReserved means a reserved bit that is set.
	ErrReserved Reason = "reserved"
	// ErrPort means port 0.
	ErrPort Reason = "port"
	// ErrPortFlag means a port flag that disagrees with the port.
	ErrPortFlag Reason = "port-flag"
)

// Reasons for which a question about a key or a URL has no answer.
const (
	// ErrComponent means an unknown component, one without bits in the key, or one that a URL
	// must have.
	ErrComponent Reason = "component"
	// ErrBits means a hash of more than 64 bits.
	ErrBits Reason = "bits"
)

// Error returns the reason as a sentence would.
func (r Reason) Error() string { return "SXURL: " + strings.ReplaceAll(string(r), "-", " ") }

// Code returns the reason itself, for reports.
func (r Reason) Code() string { return string(r) }

package sxurl

// A Reason is why a URL or a key was refused. Every error of this package wraps exactly
// one Reason: test for it with errors.Is(err, sxurl.ErrHost), or get it with errors.As.
type Reason string

// Reasons for which a URL has no SXURL.
const (
	// ErrURL means that the input is no URL by the URL Standard.
	ErrURL Reason = "not a valid URL"
	// ErrScheme means another scheme than https, http and ftp, in a URL or in a key.
	ErrScheme Reason = "scheme is not https, http or ftp"
	// ErrHost means a missing host, or one that is an IP address or no domain name.
	ErrHost Reason = "host is not a DNS name"
	// ErrHostLength means a host of more than 255 bytes.
	ErrHostLength Reason = "host is too long"
	// ErrLabel means a label of the host that is empty, longer than 63 bytes, or has a
	// hyphen at an end; or a host of one label where two are needed.
	ErrLabel Reason = "label of the host is not valid"
	// ErrCharacter means a character in the host that is no letter, digit or hyphen.
	ErrCharacter Reason = "character not allowed in a host"
	// ErrJoin means a relative reference to a URL that cannot be a base.
	ErrJoin Reason = "URL cannot be a base"
)

// Reasons for which a text or 32 bytes are no SXURL.
const (
	// ErrLength means a text of other than 64 bytes.
	ErrLength Reason = "not 64 digits long"
	// ErrHex means a character that is no hexadecimal digit.
	ErrHex Reason = "not hexadecimal"
	// ErrVersion means another version than 1 in a key of layout Release02.
	ErrVersion Reason = "version not supported"
	// ErrReserved means a reserved bit that is set.
	ErrReserved Reason = "reserved bit is set"
	// ErrPort means port 0.
	ErrPort Reason = "port is out of range"
	// ErrPortFlag means a port flag that disagrees with the port.
	ErrPortFlag Reason = "port flag and port disagree"
)

// Reasons for which a question about a key or a URL has no answer.
const (
	// ErrComponent means an unknown component, one without bits in the key, or one that a URL
	// must have.
	ErrComponent Reason = "component does not allow this"
	// ErrBits means a hash of more than 64 bits.
	ErrBits Reason = "hash width is out of range"
)

// Error returns the reason in a few words.
func (r Reason) Error() string { return string(r) }

// Code returns the reason's short, stable name, for reports.
func (r Reason) Code() string {
	switch r {
	case ErrURL:
		return "url"
	case ErrScheme:
		return "scheme"
	case ErrHost:
		return "host"
	case ErrHostLength:
		return "host-length"
	case ErrLabel:
		return "label"
	case ErrCharacter:
		return "character"
	case ErrJoin:
		return "base"
	case ErrLength:
		return "length"
	case ErrHex:
		return "hex"
	case ErrVersion:
		return "version"
	case ErrReserved:
		return "reserved"
	case ErrPort:
		return "port"
	case ErrPortFlag:
		return "port-flag"
	case ErrComponent:
		return "component"
	}
	return "bits"
}

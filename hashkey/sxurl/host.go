package sxurl

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/uts46"
)

// maxHost and maxLabel are in bytes, and so is maxUnmapped, the bound before IDNA, which
// takes quadratic time: 255 letters are at most 1,020 bytes, but IDNA ignores some others.
const (
	maxHost     = 255
	maxLabel    = 63
	maxUnmapped = 2000
)

// NormalizeHost returns a host in lower case and ASCII, if it is a DNS name. It fails with
// [ErrHost], [ErrHostLength], [ErrLabel] or [ErrCharacter]. A dot at the end makes an
// empty label, and so fails.
//
// The crate's lower-casing turns a capital sigma at the end of a word into another letter
// than its own parser has in the same host. Here the two agree.
func NormalizeHost(host string) (string, error) {
	if len(host) > maxUnmapped {
		return "", hostError(host, "at most 255 bytes, of 2000 before they are mapped", ErrHostLength)
	}
	ascii, err := uts46.ToASCII(host)
	if err != nil {
		return "", hostError(host, fmt.Sprintf("a domain name (%v)", err), ErrHost)
	}
	return ascii, ValidateHost(ascii)
}

// ValidateHost returns why an ASCII host is no DNS name that can be encoded. It returns nil,
// or an error that wraps [ErrHost], [ErrHostLength], [ErrLabel] or [ErrCharacter].
// Underscores are refused, though real names have them.
func ValidateHost(host string) error {
	if len(host) > maxHost {
		return hostError(host, "at most 255 bytes", ErrHostLength)
	}
	if isIP(host) || strings.Contains(host, ":") {
		return hostError(host, "a DNS name, no IP address", ErrHost)
	}
	start := 0
	for i := 0; i <= len(host); i++ {
		if i < len(host) && host[i] != '.' {
			continue
		}
		if err := validateLabel(host, host[start:i]); err != nil {
			return err
		}
		start = i + 1
	}
	return nil
}

func validateLabel(host, label string) error {
	if label == "" || len(label) > maxLabel {
		return hostError(host, "labels of 1 to 63 bytes", ErrLabel)
	}
	for i := range len(label) {
		if c := label[i]; c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return hostError(host, "letters, digits and hyphens only", ErrCharacter)
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return hostError(host, "labels without a hyphen at either end", ErrLabel)
	}
	return nil
}

// isIP looks at the last byte first: all names but a few are done with that.
func isIP(host string) bool {
	if host == "" || host[len(host)-1] < '0' || host[len(host)-1] > '9' {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func hostError(host, want string, reason Reason) error {
	const most = 300
	return fault.As(reason, "cannot use host; got %q; want %s", host[:min(len(host), most)], want)
}

// SplitHost splits a host at its public suffix: "www.example.co.uk" is "co.uk", "example",
// "www". The rules are those of the list in golang.org/x/net/publicsuffix, private ones
// included ("github.io"); without a rule the suffix is the last label. A host that is
// itself a suffix is split at its last two dots. A dot at the end stays with the suffix. One
// label alone is [ErrLabel].
func SplitHost(host string) (tld, domain, subdomain string, err error) {
	if whole, ok := strings.CutSuffix(host, "."); ok && strings.Contains(whole, ".") && whole != "." {
		tld, domain, subdomain, err = splitHost(whole)
		return tld + ".", domain, subdomain, err
	}
	return splitHost(host)
}

func splitHost(host string) (tld, domain, subdomain string, err error) {
	tld, _ = publicsuffix.PublicSuffix(host)
	if tld == host {
		tld = host[strings.LastIndexByte(host, '.')+1:]
	}
	if tld == host {
		return "", "", "", hostError(host, "at least two labels", ErrLabel)
	}
	rest := host[:len(host)-len(tld)-1]
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return tld, rest[i+1:], rest[:i], nil
	}
	return tld, rest, "", nil
}

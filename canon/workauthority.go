package canon

import (
	"net/url"
	"strings"

	"github.com/PuerkitoBio/purell"

	"github.com/firstseen/firstseen/internal/fault"
)

// defaultPort checks the number and drops a default port. For http and https, purell does
// that: its result is right for a plain authority (ASCII host, checked address, no
// leading zeros), which this one is by now.
func (w *work) defaultPort() error {
	number, ok := portNumber(w.port)
	if !ok {
		return errPort(w.port)
	}
	if w.scheme != "http" && w.scheme != "https" && number == specialPort(w.scheme) {
		number = ""
	}
	u := url.URL{Scheme: w.scheme, Host: w.host + ":" + number, Path: "/"}
	purell.NormalizeURL(&u, purell.FlagRemoveDefaultPort|purell.FlagRemoveEmptyPortSeparator)
	w.port = strings.TrimPrefix(u.Host, w.host)
	return nil
}

func errPort(port string) error {
	return fault.As(ErrURL, "cannot read port; got %s; want a number up to 65535", quote(port))
}

// portNumber reads ":0080" as "80"; "" and ":" are "".
func portNumber(port string) (string, bool) {
	number := strings.TrimPrefix(port, ":")
	if strings.Trim(number, digits) != "" {
		return "", false
	}
	trimmed := strings.TrimLeft(number, "0")
	if trimmed == "" && number != "" {
		return "0", true
	}
	// Numbers of equal length compare as text.
	ok := len(trimmed) < 5 || len(trimmed) == 5 && trimmed <= "65535"
	return trimmed, ok
}

// stripTrailingDot leaves "a.." alone: what precedes a second dot can look like an address.
func (w *work) stripTrailingDot() error {
	if host, ok := strings.CutSuffix(w.host, "."); ok && host != "" && !strings.HasSuffix(host, ".") {
		w.host = host
	}
	return nil
}

// stripWWW strips as often as it can, so that a second run finds nothing.
func (w *work) stripWWW() error {
	for {
		rest, ok := strings.CutPrefix(w.host, "www.")
		if dot := strings.IndexByte(rest, '.'); !ok || dot <= 0 || dot == len(rest)-1 {
			return nil
		}
		w.host = rest
	}
}

func (w *work) foldHTTPS() error {
	if w.scheme == "http" && w.port == "" {
		w.scheme = "https"
	}
	return nil
}

package admit

import (
	"crypto/sha256"
	"net"
	"net/netip"
)

// Client is whom limits count for: a token, or an address where there is none. The zero
// value is a client of unknown address.
type Client struct {
	token [sha256.Size]byte // digest
	addr  netip.Prefix
}

// ByToken returns the client that has a token, given the token's digest.
func ByToken(digest [sha256.Size]byte) Client { return Client{token: digest} }

// ByAddress returns the client at an address. One machine can have all addresses of an
// IPv6 network of 64 bits, so these are one client.
func ByAddress(a net.Addr) Client {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return Client{}
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	if !ok {
		return Client{}
	}
	ip = ip.Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return Client{}
	}
	return Client{addr: prefix}
}

// Address returns the address for logs, "" for a client that has a token.
func (c Client) Address() string {
	if !c.addr.IsValid() {
		return ""
	}
	if c.addr.Addr().Is4() {
		return c.addr.Addr().String()
	}
	return c.addr.String()
}

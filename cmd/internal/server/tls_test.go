package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// authority makes certificates for a test.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // PEM of cert
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	a.file = a.write("ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

func (a *authority) sign(c *x509.Certificate, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: "firstseen test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// issue writes a certificate for loopback and returns the names of its files.
func (a *authority) issue(name string) (certFile, keyFile string) {
	a.t.Helper()
	cert, key := a.sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write(name+".pem", "CERTIFICATE", cert.Raw), a.write(name+".key", "EC PRIVATE KEY", der)
}

// trusting is a client's configuration, with a certificate if names are given.
func (a *authority) trusting(files ...string) *tls.Config {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	c := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if len(files) == 2 {
		pair, err := tls.LoadX509KeyPair(files[0], files[1])
		if err != nil {
			a.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

func (r *running) tryTLS(t testing.TB, c *tls.Config) codes.Code {
	t.Helper()
	conn := r.dial(t, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	_, err := pb.NewURLFrontierClient(conn).GetActive(t.Context(), &pb.Local{})
	return status.Code(err)
}

func (r *running) tryHTTPS(t testing.TB, c *tls.Config) error {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + r.HTTPAddr() + "/healthz")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server")
	r := start(t, canon.None(), Config{TLS: TLSConfig{CertFile: cert, KeyFile: key}})
	if got := r.tryTLS(t, a.trusting()); got != codes.OK {
		t.Errorf("got %s; want OK", got)
	}
	if err := r.tryHTTPS(t, a.trusting()); err != nil {
		t.Error(err)
	}
	if got := r.tryTLS(t, newAuthority(t).trusting()); got != codes.Unavailable {
		t.Errorf("client that trusts another authority: got %s; want Unavailable", got)
	}
	if _, err := r.client(t).GetActive(t.Context(), &pb.Local{}); status.Code(err) != codes.Unavailable {
		t.Errorf("client in the clear: got %v; want Unavailable", err)
	}
}

func TestMutualTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	cert, key := a.issue("server")
	r := start(t, canon.None(), Config{TLS: TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: a.file}})
	if got := r.tryTLS(t, a.trusting(a.issue2("client")...)); got != codes.OK {
		t.Errorf("with a certificate: got %s; want OK", got)
	}
	if err := r.tryHTTPS(t, a.trusting(a.issue2("web")...)); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]*tls.Config{"none": a.trusting(), "another's": a.trusting(other.issue2("client")...)} {
		if got := r.tryTLS(t, c); got != codes.Unavailable {
			t.Errorf("with certificate %s: got %s; want Unavailable", name, got)
		}
		if err := r.tryHTTPS(t, c); err == nil {
			t.Errorf("HTTP with certificate %s: got no error", name)
		}
	}
}

func (a *authority) issue2(name string) []string {
	c, k := a.issue(name)
	return []string{c, k}
}

// TestReloadCertificate checks that new connections get the new certificate,
// and that a bad file leaves the old one.
func TestReloadCertificate(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server")
	r := start(t, canon.None(), Config{TLS: TLSConfig{CertFile: cert, KeyFile: key}})
	before := serial(t, r, a)
	if err := os.WriteFile(cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(t.Context()); err == nil {
		t.Error("got no error for a bad certificate")
	}
	if got := serial(t, r, a); got != before {
		t.Errorf("after a bad file: got certificate %s; want %s", got, before)
	}
	a.issue("server")
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := serial(t, r, a); got == before {
		t.Error("after reload: got the old certificate")
	}
}

func serial(t testing.TB, r *running, a *authority) string {
	t.Helper()
	conn, err := tls.Dial("tcp", r.HTTPAddr(), a.trusting())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestAddresses(t *testing.T) {
	tests := []struct {
		addr              string
		encrypted, insist bool
		ok                bool
	}{
		{"127.0.0.1:7071", false, false, true},
		{"127.9.9.9:0", false, false, true},
		{"[::1]:7071", false, false, true},
		{"localhost:7071", false, false, true},
		{"0.0.0.0:7071", false, false, false},
		{":7071", false, false, false},
		{"[::]:7071", false, false, false},
		{"192.0.2.1:7071", false, false, false},
		{"0.0.0.0:7071", true, false, true},
		{"0.0.0.0:7071", false, true, true},
		{"nonsense", true, true, false},
	}
	for _, test := range tests {
		err := checkAddress(t.Context(), "grpc", test.addr, test.encrypted, test.insist)
		if (err == nil) != test.ok {
			t.Errorf("%s encrypted %t insist %t: got %v; want ok %t", test.addr, test.encrypted, test.insist, err, test.ok)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		cfg  Config
		want string
	}{
		{Config{}, ""},
		{Config{GRPCAddr: "0.0.0.0:1"}, "in the clear"},
		{Config{HTTPAddr: "0.0.0.0:1"}, "in the clear"},
		{Config{HTTPAddr: "off"}, ""},
		{Config{TLS: TLSConfig{CertFile: "missing.pem"}}, "want --tls-key"},
		{Config{TLS: TLSConfig{CertFile: "missing.pem", KeyFile: "missing.key"}}, "cannot load certificate"},
		{Config{TokensFile: "missing"}, "cannot read tokens"},
	}
	for _, test := range tests {
		err := test.cfg.Check(t.Context())
		if (err == nil) != (test.want == "") || !strings.Contains(errText(err), test.want) {
			t.Errorf("%+v: got %v; want %q", test.cfg, err, test.want)
		}
	}
}

// TestWarnings: a certificate that is over or not valid yet, and a disk below its least free space, are said, and refuse nothing.
func TestWarnings(t *testing.T) {
	a := newAuthority(t)
	var c Config
	c.TLS.CertFile, c.TLS.KeyFile = a.issue("fine")
	c.Dir, c.MinFree = filepath.Join(t.TempDir(), "none yet"), 1
	if got := c.Warnings(); got != nil {
		t.Errorf("got %q; want none", got)
	}
	c.MinFree = 1 << 62
	for _, dates := range [][2]time.Duration{{-2 * time.Hour, -time.Hour}, {time.Hour, 2 * time.Hour}} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		is := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(dates[0]), NotAfter: time.Now().Add(dates[1])}
		der, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		c.TLS.CertFile, c.TLS.KeyFile = a.write("c.pem", "CERTIFICATE", der), a.write("k.pem", "EC PRIVATE KEY", text)
		if got := c.Warnings(); len(got) != 2 || !strings.Contains(got[0], "clients will refuse the certificate") || !strings.Contains(got[1], "writes will be refused") {
			t.Errorf("got %q; want the certificate and the disk named", got)
		}
	}
}

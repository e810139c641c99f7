package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// keyring holds the current certificate, and is renewed without a restart.
type keyring struct {
	files   TLSConfig
	current atomic.Pointer[tls.Config]
}

func loadKeyring(c TLSConfig) (*keyring, error) {
	if !c.enabled() {
		return nil, nil
	}
	k := &keyring{files: c}
	return k, k.reload()
}

// reload reads the files again; on error the certificate stays as it was.
func (k *keyring) reload() error {
	if k == nil {
		return nil
	}
	switch {
	case k.files.CertFile == "":
		return fmt.Errorf("cannot serve TLS; got no certificate; want --tls-cert")
	case k.files.KeyFile == "":
		return fmt.Errorf("cannot serve TLS; got no key of the certificate; want --tls-key")
	}
	cert, err := tls.LoadX509KeyPair(k.files.CertFile, k.files.KeyFile)
	if err != nil {
		return fmt.Errorf("cannot load certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	if k.files.ClientCAFile != "" {
		if c.ClientCAs, err = loadRoots(k.files.ClientCAFile); err != nil {
			return err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	k.current.Store(c)
	return nil
}

func loadRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot load client roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot load client roots of %s; got no certificate; want PEM", file)
	}
	return pool, nil
}

// config returns a configuration that looks up the current certificate at
// each handshake and offers these protocols.
func (k *keyring) config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := k.current.Load().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// TLSConfig names the files of a server's certificate. The zero value serves
// in the clear.
type TLSConfig struct {
	CertFile string // PEM chain, leaf first. The default is no TLS.
	KeyFile  string // PEM private key of CertFile. The default is none.
	// ClientCAFile holds the PEM roots that client certificates must chain
	// to; with it, a connection without one is refused. The default is to ask
	// for none.
	ClientCAFile string
}

func (c TLSConfig) enabled() bool { return c.CertFile != "" || c.KeyFile != "" || c.ClientCAFile != "" }

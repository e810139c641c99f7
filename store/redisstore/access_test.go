package redisstore

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// access is how a test's daemon gets in; the test changes it while the daemon runs.
type access struct{ user, password atomic.Value }

func (a *access) credentials(context.Context) (string, string, error) {
	user, _ := a.user.Load().(string)
	password, _ := a.password.Load().(string)
	return user, password, nil
}

// steps are calls of every kind. Each returns the error of a call that a server refuses.
var steps = map[string]func(context.Context, *Store, int) error{
	"add": func(ctx context.Context, s *Store, n int) error {
		_, err := s.Add(ctx, "c", []store.Item{testItem(n, "q")}, store.AddOptions{})
		return err
	},
	"take": func(ctx context.Context, s *Store, _ int) error {
		_, err := s.Take(ctx, store.TakeRequest{Crawl: "*", MaxURLs: 1, MaxInFlight: 100})
		return err
	},
	"settle": func(ctx context.Context, s *Store, n int) error {
		_, err := s.Settle(ctx, "c", []store.Settlement{{Key: testItem(n, "q").Key}})
		return err
	},
	"stats": func(ctx context.Context, s *Store, _ int) error { _, err := s.Stats(ctx, "c"); return err },
	"forget": func(ctx context.Context, s *Store, n int) error {
		_, err := s.Forget(ctx, store.Selection{Crawl: "c", Keys: []store.Key{testItem(n, "q").Key}})
		return err
	},
	"beat": func(ctx context.Context, s *Store, _ int) error { _, err := s.Beat(ctx, "a:1"); return err },
}

// wantRefused checks that each step fails, and that the error names the node, the server's reason and what to do.
func wantRefused(t *testing.T, s *Store, addr string, want ...string) {
	t.Helper()
	n := 100
	for name, step := range steps {
		n++
		err := step(t.Context(), s, n)
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v; want %v", name, err, store.ErrUnavailable)
			continue
		}
		for _, w := range append(want, "redis server "+addr) {
			if strings.Count(err.Error(), w) != 1 {
				t.Errorf("%s: got error %q; want %q once", name, err, w)
			}
		}
	}
}

func wantServed(t *testing.T, s *Store, n int) {
	t.Helper()
	for name, step := range steps {
		n++
		if err := step(t.Context(), s, n); err != nil {
			t.Errorf("%s: got %v; want no error", name, err)
		}
	}
}

// hangUp closes the connections of all clients.
func hangUp(t *testing.T, admin *redis.Client) {
	t.Helper()
	must(admin.Do(t.Context(), "client", "kill", "type", "normal").Result())(t)
}

// TestPasswordsChange changes the password, the user and its rights under a daemon. What is refused is not tried again for the
// half hour of RetryFor, and says why; the right password is used from the next connection on.
func TestPasswordsChange(t *testing.T) {
	t.Parallel()
	addr := rediscluster.Single(t)
	admin := redis.NewClient(&redis.Options{Addr: addr, Username: "admin", Password: "root"})
	defer admin.Close()
	must(redis.NewClient(&redis.Options{Addr: addr}).Do(t.Context(), "acl", "setuser", "admin", "on", ">root", "allkeys", "allcommands").Result())(t)
	require := func(password string) {
		must(admin.ConfigSet(t.Context(), "requirepass", password).Result())(t)
		hangUp(t, admin)
	}
	require("old")
	a := new(access)
	o := testOptions(addr, 4)
	o.Credentials, o.CacheBytes, o.RetryFor = a.credentials, -1, 30*time.Minute
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "NOAUTH") || !strings.Contains(err.Error(), "password-file=") {
		t.Fatalf("got %v; want NOAUTH and what to do", err)
	}
	a.password.Store("old")
	s := open(t, o)
	defer s.Close()
	wantServed(t, s, 1)
	require("new")
	wantRefused(t, s, addr, "WRONGPASS", "a password file is read again")
	a.password.Store("")
	wantRefused(t, s, addr, "NOAUTH", "password-file=")
	a.password.Store("new")
	wantServed(t, s, 20)

	a.user.Store("crawl")
	must(admin.Do(t.Context(), "acl", "setuser", "crawl", "on", ">new", "~*", "+@all", "-evalsha").Result())(t)
	hangUp(t, admin)
	wantRefused(t, s, addr, "NOPERM", "the rights that docs/REDIS.md lists")
	must(admin.Do(t.Context(), "acl", "setuser", "crawl", "+evalsha", "-hget", "-hset", "-exists", "-get").Result())(t) // refused within the script
	wantRefused(t, s, addr, "the rights that docs/REDIS.md lists")

	_, rights, found := strings.Cut(string(must(os.ReadFile("../../docs/REDIS.md"))(t)), "ACL SETUSER crawl on '>PASSWORD' ")
	if !found {
		t.Fatal("got no ACL SETUSER in docs/REDIS.md; want the rights of a user")
	}
	rights, _, _ = strings.Cut(rights, "\n")
	args := []any{"acl", "setuser", "crawl", "reset", "on", ">new"}
	for _, r := range strings.Fields(strings.NewReplacer("'", "", "fs:", o.Prefix).Replace(rights)) {
		args = append(args, r)
	}
	must(admin.Do(t.Context(), args...).Result())(t)
	hangUp(t, admin)
	wantServed(t, s, 40)
	fresh := o
	fresh.Prefix += "x:"
	closeAll(t, open(t, o), open(t, fresh))
}

// certificate makes an authority and a certificate of it for loopback.
func certificate(t *testing.T) (ca, cert, key []byte) {
	t.Helper()
	make := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		if by == nil {
			parent, by = template, private
		}
		template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
		return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, by))(t)))(t), private
	}
	root, by := make(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	leaf, private := make(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, root, by)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return block("CERTIFICATE", root.Raw), block("CERTIFICATE", leaf.Raw), block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(private))(t))
}

// TestCertificatesChange replaces the server's certificate, by another authority's, under a daemon.
func TestCertificatesChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must(true, os.WriteFile(path, text, 0o600))(t)
		return path
	}
	ca, cert, key := certificate(t)
	addrs, release, err := freeport.Take(t.Context(), 1)
	must(true, err)(t)
	defer release()
	_, port, _ := net.SplitHostPort(addrs[0])
	plain := rediscluster.Single(t, "tls-port "+port, "tls-auth-clients no", "tls-ca-cert-file "+write("ca", ca), "tls-cert-file "+write("cert", cert), "tls-key-file "+write("key", key))
	var trusted atomic.Pointer[x509.CertPool]
	trust := func(pem []byte) {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		trusted.Store(pool)
	}
	trust(ca)
	o := testOptions(addrs[0], 4)
	o.RetryFor, o.CacheBytes = 2*time.Second, -1
	o.TLS = func(context.Context) (*tls.Config, error) { return &tls.Config{RootCAs: trusted.Load()}, nil }
	s := open(t, o)
	defer s.Close()
	wantServed(t, s, 1)

	ca, cert, key = certificate(t)
	admin := redis.NewClient(&redis.Options{Addr: plain})
	defer admin.Close()
	must(admin.Do(t.Context(), "config", "set", "tls-ca-cert-file", write("ca2", ca), "tls-cert-file", write("cert2", cert), "tls-key-file", write("key2", key)).Result())(t)
	hangUp(t, admin)
	if err := steps["add"](t.Context(), s, 50); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), addrs[0]) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v; want that the certificate of %s is unknown", err, addrs[0])
	}
	trust(ca)
	wantServed(t, s, 51)

	for _, c := range []struct {
		addr string
		tls  bool
		want string
	}{{plain, true, "no TLS connection"}, {addrs[0], false, "rediss://"}} {
		o.Addrs = []string{c.addr}
		if !c.tls {
			o.TLS = nil
		}
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.addr) {
			t.Errorf("got %v of %+v; want %q and the address", err, c, c.want)
		}
	}
}

// TestAnOverloadIsRetried stops a replica for longer than one WAIT lasts: what is added meanwhile is answered when it goes on,
// once. If it takes longer than RetryFor, the error names the node.
func TestAnOverloadIsRetried(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real cluster")
	}
	c := rediscluster.New(t, 1, 1)
	o := Options{Addrs: c.Addrs(), Shards: 4, RetryFor: hang.Limit, CacheBytes: -1}.Waiting(100 * time.Millisecond)
	s := open(t, o)
	defer s.Close()
	items := testItems(0, 100)
	must(true, c.Nodes[1].Stop())(t)
	master := only(t, s)
	waits := func() string {
		return must(master.InfoMap(t.Context(), "commandstats").Result())(t)["Commandstats"]["cmdstat_wait"]
	}
	added, before := make(chan error), waits()
	var verdicts []store.Verdict
	go func() {
		var err error
		verdicts, err = s.Add(t.Context(), "c", items, store.AddOptions{})
		added <- err
	}()
	for n := 0; n < 3; { // times that the replica was waited for
		select {
		case err := <-added:
			t.Fatalf("got %v while no replica had the URLs; want no answer", err)
		default:
			if now := waits(); now != before {
				n, before = n+1, now
			}
		}
	}
	must(true, c.Nodes[1].Cont())(t)
	must(true, <-added)(t)
	for _, v := range verdicts {
		if v.Status != store.New {
			t.Fatalf("got %v; want all new", v.Status)
		}
	}
	wantHeld(t, s, 100)

	s.opt.RetryFor = 300 * time.Millisecond
	must(true, c.Nodes[1].Stop())(t)
	_, err := s.Add(t.Context(), "c", testItems(100, 1), store.AddOptions{})
	if want := fmt.Sprintf("redis server %s: 0 of 1 replicas", c.Nodes[0].Addr); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want %q", err, want)
	}
	if _, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c"}); err == nil || strings.Count(err.Error(), c.Nodes[0].Addr) != 1 {
		t.Errorf("got %v of a take; want an error that names the node once", err)
	}
	// The queue has URLs whose steps are not ended.
	if st := must(s.Stats(t.Context(), "c"))(t); st.Held > st.Seen || st.InFlight > st.Held {
		t.Errorf("got %+v; want at most as many held as seen", st)
	}
	must(true, c.Nodes[1].Cont())(t)
}

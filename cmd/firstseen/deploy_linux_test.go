package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/internal/freeport"
)

// dynamicUser is one of the users that DynamicUser= makes.
const dynamicUser = 61_300

// unitDir returns a directory that the dynamic user can enter, with a copy of the test
// binary, which it can run.
func unitDir(t *testing.T) (dir, binary string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to run a process as another user")
	}
	dir, err := os.MkdirTemp("", "firstseen-unit-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "firstseen")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, binary, 0o755)
	return dir, binary
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
}

// etc makes what an administrator puts into /etc/firstseen, readable by root alone.
func etc(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "etc")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"tokens":   []byte("read read-0123456789abcdef\n"),
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// directives returns the values of a directive in the drop-in.
func directives(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", "credentials.conf"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		t.Fatalf("got no %s= in the drop-in", name)
	}
	return values
}

// grant is how systemd lets the user of a unit read a credential: it changes the owner of the
// file, or adds an entry to the access list of root's file.
type grant func(t *testing.T, file string)

func giveAway(t *testing.T, file string) {
	t.Helper()
	if err := os.Chown(file, dynamicUser, dynamicUser); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
}

// addEntry sets the list u::r--,u:USER:r--,g::---,m::r--,o::---, which stat shows as 0440.
func addEntry(t *testing.T, file string) {
	t.Helper()
	type entry struct {
		tag, perm uint16
		id        uint32
	}
	const none, read = ^uint32(0), 4
	list := binary.LittleEndian.AppendUint32(nil, 2) // version
	for _, e := range []entry{{0x01, read, none}, {0x02, read, dynamicUser}, {0x04, 0, none}, {0x10, read, none}, {0x20, 0, none}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	if err := unix.Setxattr(file, "system.posix_acl_access", list, 0); err != nil {
		t.Skipf("needs access lists in the file system of the temporary directory; got %v", err)
	}
}

// credentials makes the directory that systemd makes of LoadCredential= lines, %d.
func credentials(t *testing.T, dir, etc string, allow grant) string {
	t.Helper()
	dir = filepath.Join(dir, "credentials")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, value := range directives(t, "LoadCredential") {
		name, file, _ := strings.Cut(value, ":")
		text, err := os.ReadFile(strings.Replace(file, "/etc/firstseen", etc, 1))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o400)
		}
		if err != nil {
			t.Fatal(err)
		}
		allow(t, filepath.Join(dir, name))
	}
	if err := os.Chown(dir, dynamicUser, dynamicUser); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asUnit makes a command that runs as the unit's user, with the drop-in's environment.
func asUnit(t *testing.T, binary, credentials string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = "/"
	cmd.Env = []string{asCommand + "=1"}
	for _, value := range directives(t, "Environment") {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(value, "%d", credentials))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: dynamicUser, Gid: dynamicUser}}
	return cmd
}

// TestDeployCredentials runs the daemon as the unit does: as a user that exists only for
// it, with files of root's that systemd made readable to it.
func TestDeployCredentials(t *testing.T) {
	for name, allow := range map[string]grant{"owner": giveAway, "access list": addEntry} {
		t.Run(name, func(t *testing.T) {
			dir, binary := unitDir(t)
			creds := credentials(t, dir, etc(t, dir), allow)
			state := filepath.Join(dir, "state") // StateDirectory=
			if err := os.Mkdir(state, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(state, dynamicUser, dynamicUser); err != nil {
				t.Fatal(err)
			}
			addrs, release, err := freeport.Take(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			args := []string{"serve", "--db", filepath.Join(state, "crawl.db"), "--min-free", "-1", "--grpc", addrs[0], "--http", addrs[1]}
			if out, err := asUnit(t, binary, creds, append(args, "--check")...).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ok\n") {
				t.Fatalf("--check: got %v\n%s", err, out)
			}
			var log bytes.Buffer
			cmd := asUnit(t, binary, creds, args...)
			cmd.Stderr = &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for token, want := range map[string]int{"": http.StatusUnauthorized, "read-0123456789abcdef": http.StatusOK} {
				if got := statsStatus(t, addrs[1], token, ended); got != want {
					t.Errorf("token %q: got %d; want %d", token, got, want)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("got %v\n%s", err, log.String())
			}
		})
	}
}

// statsStatus asks the daemon for counts by TLS, as soon as it serves.
func statsStatus(t *testing.T, addr, token string, ended <-chan error) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+addr+"/v1/stats", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for {
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		select {
		case err := <-ended:
			t.Fatalf("the daemon ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestTokensOfOthers starts the daemon as the user of the unit with token files without
// LoadCredential=. It must explain how to pass a file that it cannot read, and refuse a file
// that everyone can read.
func TestTokensOfOthers(t *testing.T) {
	dir, binary := unitDir(t)
	tokens := filepath.Join(etc(t, dir), "tokens")
	for mode, want := range map[os.FileMode]string{0o600: "LoadCredential=", 0o644: "no access for others"} {
		if err := os.Chmod(tokens, mode); err != nil {
			t.Fatal(err)
		}
		cmd := asUnit(t, binary, "", "serve", "--check", "--tokens", tokens)
		cmd.Env = []string{asCommand + "=1"}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("mode %v: got %v, %s; want an error with %q", mode, err, out, want)
		}
	}
}

package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/admit"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

const (
	readToken  = "read-0123456789abcdef"
	writeToken = "write-0123456789abcdef"
	adminToken = "admin-0123456789abcdef"
)

func rewrite(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

func tokenFile(t testing.TB, text string) string {
	t.Helper()
	name := temp(t, "tokens")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func threeTokens(t testing.TB) string {
	return tokenFile(t, "# crawlers\nread "+readToken+"\nwrite  "+writeToken+"\n\nadmin\t"+adminToken+"\n")
}

// TestScopes calls one method of each scope with each token.
func TestScopes(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: threeTokens(t)})
	c := r.client(t)
	calls := map[Scope]func(context.Context) error{
		Open: func(ctx context.Context) error {
			_, err := grpc_health_v1.NewHealthClient(r.dial(t, insecureOption())).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			return err
		},
		Read: func(ctx context.Context) error {
			_, err := c.GetStats(ctx, &pb.QueueWithinCrawlParams{})
			return err
		},
		Write: func(ctx context.Context) error {
			_, err := c.SetDelay(ctx, &pb.QueueDelayParams{Key: "k", DelayRequestable: 1})
			return err
		},
		Admin: func(ctx context.Context) error {
			_, err := c.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{Value: "c"})
			return err
		},
	}
	tokens := map[string]Scope{"": Open, "Bearer ": Open, "Bearer wrong-0123456789abcdef": Open, "Basic " + adminToken: Open,
		"Bearer " + readToken: Read, "bearer " + writeToken: Write, "Bearer " + adminToken: Admin}
	for header, have := range tokens {
		for need, call := range calls {
			want := codes.OK
			switch {
			case need > have && have == Open:
				want = codes.Unauthenticated
			case need > have:
				want = codes.PermissionDenied
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
			if got := status.Code(call(ctx)); got != want {
				t.Errorf("scope %s with %.12q: got %s; want %s", need, header, got, want)
			}
		}
	}
}

func insecureOption() grpc.DialOption {
	return grpc.WithTransportCredentials(insecure.NewCredentials())
}

// TestStreamScopes checks that a stream is refused before anything is stored.
func TestStreamScopes(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: threeTokens(t)})
	stream, err := r.client(t).PutURLs(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+readToken))
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send((&player{}).item("http://a.com/ known=0")) // the refusal may come first
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("got %v; want PermissionDenied", err)
	}
	if st, err := r.store.Stats(t.Context(), "*"); err != nil || st.Seen != 0 {
		t.Errorf("got %d keys, %v; want none", st.Seen, err)
	}
}

// TestEveryCallHasAScope fails for a call that was added and not thought about.
func TestEveryCallHasAScope(t *testing.T) {
	for _, m := range pb.URLFrontier_ServiceDesc.Methods {
		checkScope(t, m.MethodName)
	}
	for _, m := range pb.URLFrontier_ServiceDesc.Streams {
		checkScope(t, m.StreamName)
	}
}

func checkScope(t *testing.T, name string) {
	if s := calls["/urlfrontier.URLFrontier/"+name].need; s == Open {
		t.Errorf("%s has no scope", name)
	}
}

func TestHTTPScopes(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: threeTokens(t)})
	tests := []struct {
		method, path, token, body string
		want                      int
	}{
		{"GET", "/healthz", "", "", 200},
		{"GET", "/readyz", "", "", 200},
		{"GET", "/", "", "", 200},
		{"GET", "/v1/stats", "", "", 401},
		{"GET", "/v1/stats", "nothing-0123456789", "", 401},
		{"GET", "/v1/stats", readToken, "", 200},
		{"GET", "/metrics", "", "", 401},
		{"GET", "/metrics", readToken, "", 200},
		{"POST", "/v1/lease", readToken, "{}", 403},
		{"POST", "/v1/lease", writeToken, "{}", 200},
		{"POST", "/v1/urls", "", "", 401},
		{"POST", "/v1/urls", adminToken, "", 200},
	}
	for _, test := range tests {
		req, err := http.NewRequestWithContext(t.Context(), test.method, r.url(test.path), strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if test.token != "" {
			req.Header.Set("Authorization", "Bearer "+test.token)
		}
		if got := statusOf(t, req); got != test.want {
			t.Errorf("%s %s with token %q: got %d; want %d", test.method, test.path, test.token, got, test.want)
		}
	}
}

func statusOf(t testing.TB, req *http.Request) int {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// TestOtherSites checks that a page elsewhere can't use a browser to reach a daemon
// that asks for no token, whichever of its addresses the page's name points to.
func TestOtherSites(t *testing.T) {
	r := start(t, canon.None(), Config{HTTPHosts: []string{"crawl.internal"}})
	tests := []struct {
		method, path, host, site string
		want                     int
	}{
		{"GET", "/v1/stats", "", "", 200},
		{"GET", "/v1/stats", "localhost:1", "", 200},
		{"GET", "/v1/stats", "LOCALHOST.", "", 200},
		{"GET", "/v1/stats", "a.localhost", "", 200},
		{"GET", "/v1/stats", "172.17.0.2:7072", "", 200},
		{"GET", "/v1/stats", "[::1]:7072", "", 200},
		{"GET", "/v1/stats", "[fd00::2]", "", 200},
		{"GET", "/v1/stats", "Crawl.Internal:7072", "", 200},
		{"GET", "/v1/stats", "other.crawl.internal", "", 403},
		{"GET", "/v1/stats", "evil.example", "", 403},
		{"GET", "/v1/stats", "127.0.0.1.evil.example", "", 403},
		{"GET", "/", "evil.example", "", 403},
		{"GET", "/metrics", "evil.example:7072", "", 403},
		{"POST", "/v1/urls", "evil.example", "same-origin", 403},
		{"GET", "/healthz", "evil.example", "", 200},
		{"GET", "/readyz", "evil.example", "", 200},
		{"POST", "/v1/urls", "", "cross-site", 403},
		{"POST", "/v1/urls", "", "same-origin", 200},
	}
	loopback, container := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(172, 17, 0, 2)}
	for _, test := range tests {
		for _, local := range []net.Addr{loopback, container} {
			req := httptest.NewRequestWithContext(t.Context(), test.method, "http://127.0.0.1"+test.path, nil)
			req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, local))
			if req.Host = cmp.Or(test.host, "127.0.0.1"); test.site != "" {
				req.Header.Set("Sec-Fetch-Site", test.site)
			}
			w := httptest.NewRecorder()
			if r.http.Handler.ServeHTTP(w, req); w.Code != test.want {
				t.Errorf("%s %s host %q site %q at %v: got %d; want %d", test.method, test.path, test.host, test.site, local, w.Code, test.want)
			}
			if fault := (wire.Error{}); w.Code == http.StatusForbidden && (json.Unmarshal(w.Body.Bytes(), &fault) != nil || fault.Error.Code == "") {
				t.Errorf("%s %s host %q site %q: got %s; want an error as JSON", test.method, test.path, test.host, test.site, w.Body)
			}
		}
	}
}

// TestHostsWithTokens checks that a daemon that asks for tokens is served by any name.
func TestHostsWithTokens(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: threeTokens(t)})
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.url("/v1/stats"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "crawl.example"
	req.Header.Set("Authorization", "Bearer "+readToken)
	if got := statusOf(t, req); got != http.StatusOK {
		t.Errorf("got %d; want 200", got)
	}
}

func TestHostNamesAreChecked(t *testing.T) {
	for _, name := range []string{"http://a.example", "a.example:80", "*.example", ""} {
		if err := (Config{HTTPHosts: []string{name}}).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "--http-host") {
			t.Errorf("%q: got %v; want an error that names the flag", name, err)
		}
	}
}

func TestTokenFile(t *testing.T) {
	tests := []struct{ text, want string }{
		{"read " + readToken, ""},
		{"", "got none"},
		{"# nothing\n", "got none"},
		{"owner " + readToken, `got "owner"`},
		{readToken, "got 1 words"},
		{"read short", "got 5 bytes"},
	}
	for _, test := range tests {
		_, err := loadTokens(tokenFile(t, test.text))
		if got := errText(err); !strings.Contains(got, test.want) || (test.want == "") != (err == nil) {
			t.Errorf("%q: got %q; want %q in it", test.text, got, test.want)
		} else if strings.Contains(got, readToken) {
			t.Errorf("%q: the error gives the token away", test.text)
		}
	}
	open := tokenFile(t, "read "+readToken)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadTokens(open); err == nil {
		t.Error("got no error for a file that everybody may read")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestReloadTokens checks that tokens change without a restart, and that a bad
// file leaves things as they were.
func TestReloadTokens(t *testing.T) {
	file := threeTokens(t)
	r := start(t, canon.None(), Config{TokensFile: file})
	c := r.client(t)
	stats := func(token string) codes.Code {
		_, err := c.GetStats(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token), &pb.QueueWithinCrawlParams{})
		return status.Code(err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("nonsense")
	if err := r.Reload(t.Context()); err == nil {
		t.Error("got no error for a bad token file")
	}
	if !r.reloadFailed.Load() {
		t.Error("firstseen_reload_failed says nothing of it")
	}
	if got := stats(readToken); got != codes.OK {
		t.Errorf("old token after a bad file: got %s; want OK", got)
	}
	write("read another-0123456789")
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old, fresh := stats(readToken), stats("another-0123456789"); old != codes.Unauthenticated || fresh != codes.OK {
		t.Errorf("after reload: got %s for the old token, %s for the new", old, fresh)
	}
}

// TestNoSecretsInLog runs refusals with a log that takes everything.
func TestNoSecretsInLog(t *testing.T) {
	var log bytes.Buffer
	file := threeTokens(t)
	f, _ := openFrontier(t, canon.None(), newClock())
	s, err := New(t.Context(), f, Config{TokensFile: file, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))})
	if err != nil {
		t.Fatal(err)
	}
	c := &call{method: pb.URLFrontier_DeleteCrawl_FullMethodName, access: access{need: Admin}}
	err = s.identify(c, "Bearer "+readToken, admit.Client{})
	s.log.Info("state", "server", s.tokens, "error", err, "config", s.cfg.TokensFile)
	for _, secret := range []string{readToken, writeToken, adminToken} {
		if strings.Contains(log.String(), secret) || strings.Contains(errText(err), secret) {
			t.Errorf("a token is in the log: %s", log.String())
		}
	}
}

// TestReflection asks as a generic client does.
func TestReflection(t *testing.T) {
	r := start(t, canon.None(), Config{})
	stream, err := grpc_reflection_v1.NewServerReflectionClient(r.dial(t, insecureOption())).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "urlfrontier.URLFrontier"}}
	if err := stream.Send(req); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(resp.GetFileDescriptorResponse().GetFileDescriptorProto()); n == 0 {
		t.Errorf("got no descriptor; want that of the service: %v", resp)
	}
}

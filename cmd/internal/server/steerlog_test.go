package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// quietLog is a log of a level above all, which passes on what is written all the same.
type quietLog chan map[string]string

func (quietLog) Enabled(context.Context, slog.Level) bool { return false }
func (l quietLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l quietLog) WithGroup(string) slog.Handler          { return l }
func (l quietLog) Handle(_ context.Context, r slog.Record) error {
	got := map[string]string{"message": r.Message}
	r.Attrs(func(a slog.Attr) bool { got[a.Key] = a.Value.String(); return true })
	l <- got
	return nil
}

// next returns the next record, which the server writes after its answer.
func (l quietLog) next(t *testing.T) map[string]string {
	t.Helper()
	var got map[string]string
	hang.Within(t, "the log", func() { got = <-l })
	return got
}

// TestSteeringIsLogged makes every call that needs scope admin, over HTTP and gRPC.
func TestSteeringIsLogged(t *testing.T) {
	log := make(quietLog, 1)
	file := tokenFile(t, "admin "+adminToken+" name=ann\nwrite "+writeToken+"\n")
	r := startBefore(t, canon.None(), Config{TokensFile: file}, func(s *Server) { s.log = slog.New(log) })
	logged := func(call, by, request string) {
		t.Helper()
		got := log.next(t)
		if got["message"] != "steered" || got["call"] != call || got["by"] != by || got["request"] != request || got["address"] != "127.0.0.1" || got["outcome"] == "" {
			t.Errorf("got %v; want %s by %s with %q", got, call, by, request)
		}
		for _, text := range got {
			if strings.Contains(text, adminToken) || strings.Contains(text, writeToken) {
				t.Errorf("%s: the log has a token", call)
			}
		}
	}
	for _, at := range r.web.described() {
		method, path, _ := strings.Cut(at.pattern, " ")
		switch {
		case at.need != Admin:
		case method == "GET":
			r.requestWith(t, adminToken, method, path+"?crawl=none", "")
			logged(at.pattern, "ann", "crawl=none")
		case path == "/v1/traps": // without traps, it does not read the body
			r.requestWith(t, adminToken, method, path, "")
			logged(at.pattern, "ann", "")
		default:
			r.requestWith(t, adminToken, method, path, ` {"nonesuch":1} `)
			logged(at.pattern, "ann", `{"nonesuch":1}`)
		}
	}
	conn := r.dial(t, insecureOption())
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+adminToken)
	for _, m := range pb.URLFrontier_ServiceDesc.Methods {
		call := "/" + pb.URLFrontier_ServiceDesc.ServiceName + "/" + m.MethodName
		if calls[call].need != Admin {
			continue
		}
		_ = conn.Invoke(ctx, call, &emptypb.Empty{}, &emptypb.Empty{}) // some refuse it
		logged(call, "ann", "")
	}
	r.requestWith(t, writeToken, "POST", "/v1/queue", `{"queue":"a.com","delay_seconds":5}`) // is not logged
	r.requestWith(t, writeToken, "POST", "/v1/queue", `{"queue":"a.com","paused":true}`)
	if got := log.next(t); got["outcome"] != "403" || !strings.HasPrefix(got["by"], "token-") {
		t.Errorf("got %v; want the pause that was refused", got)
	}
	long := `{"queue":"` + strings.Repeat("a", mostLogged)
	r.requestWith(t, adminToken, "POST", "/v1/pause", long)
	logged("POST /v1/pause", "ann", long[:mostLogged]+"…")
}

package server

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

const (
	// maxHeader bounds the headers of a call in bytes.
	maxHeader = 16 << 10
	// connBuffer is small, so that thousands of idle connections cost little,
	// and still holds a frame of the size clients usually send.
	connBuffer = 16 << 10
)

// newGRPC makes the gRPC server with its services. Interceptors run in the
// order given: a call is counted even when refused, and costs no slot before
// its token is checked.
func (s *Server) newGRPC() *grpc.Server {
	g := grpc.NewServer(append(s.grpcLimits(),
		grpc.ChainUnaryInterceptor(s.workUnary, s.countUnary, s.tokens.unaryAuth, s.limitUnary, s.recoverUnary),
		grpc.ChainStreamInterceptor(s.workStream, s.countStream, s.tokens.streamAuth, s.limitStream, s.recoverStream),
	)...)
	frontierpb.RegisterURLFrontierServer(g, s)
	healthpb.RegisterHealthServer(g, s.health)
	s.health.SetServingStatus(frontierpb.URLFrontier_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	reflection.Register(g)
	return g
}

func (s *Server) grpcLimits() []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(s.cfg.MaxMessage),
		grpc.MaxConcurrentStreams(uint32(s.cfg.MaxStreams)),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(s.cfg.HandshakeTimeout),
		grpc.ReadBufferSize(connBuffer),
		grpc.WriteBufferSize(connBuffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: s.cfg.IdleTimeout,
			Time:              time.Minute, // a peer that vanished is noticed in 80 s
			Timeout:           20 * time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if s.keys != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.keys.config("h2"))))
	}
	return opts
}

func (s *Server) countUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	s.countCall(info.FullMethod, err)
	return resp, err
}

func (s *Server) countStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, ss)
	s.countCall(info.FullMethod, err)
	return err
}

// countCall counts known calls only, so that a client can't make up labels.
func (s *Server) countCall(method string, err error) {
	if _, ok := callScopes[method]; ok {
		s.count.calls.WithLabelValues(path.Base(method), status.Code(err).String()).Inc()
	}
}

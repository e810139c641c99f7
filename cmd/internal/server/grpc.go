package server

import (
	"context"
	"net"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/cmd/internal/admit"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

const (
	// connBuffer is small, so that thousands of idle connections cost little,
	// and still holds a frame of the size clients usually send.
	connBuffer = 16 << 10
	// streamWindow and connWindow are what a client may send of a call before the call
	// reads it, and of all of a connection before the connection reads it. Windows that
	// grow with the speed of a connection would let each call have 16 MiB waiting.
	streamWindow, connWindow = 256 << 10, 1 << 20
)

// grpcAPI is the interface of URLFrontier.
type grpcAPI struct {
	frontierpb.UnimplementedURLFrontierServer
	*service
	health *health.Server
	keys   *keyring
}

// newGRPC makes the gRPC server with its services.
func (s *grpcAPI) newGRPC() *grpc.Server {
	g := grpc.NewServer(append(s.grpcLimits(),
		grpc.Creds(wireCredentials{s}),
		grpc.InTapHandle(s.tap),
		grpc.StreamInterceptor(s.serveCall),
		grpc.UnknownServiceHandler(unknownCall),
	)...)
	r := streamsOnly{g, s}
	frontierpb.RegisterURLFrontierServer(r, s)
	healthpb.RegisterHealthServer(r, s.health)
	s.health.SetServingStatus(frontierpb.URLFrontier_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	reflection.Register(r)
	return g
}

func (s *grpcAPI) grpcLimits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(s.cfg.MaxMessage),
		grpc.MaxConcurrentStreams(uint32(s.cfg.MaxStreams)),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(s.cfg.HandshakeTimeout),
		grpc.ReadBufferSize(connBuffer),
		grpc.WriteBufferSize(connBuffer),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: s.cfg.IdleTimeout,
			Time:              time.Minute, // a peer that vanished is noticed in 80 s
			Timeout:           20 * time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}

// streamsOnly registers unary calls as streams of one message. gRPC receives the message
// of a unary call before any of our code runs, and would receive 4 MiB of each call that it
// refuses.
type streamsOnly struct {
	*grpc.Server
	s *grpcAPI
}

// RegisterService implements grpc.ServiceRegistrar.
func (r streamsOnly) RegisterService(d *grpc.ServiceDesc, impl any) {
	streams := *d
	streams.Methods, streams.Streams = nil, append([]grpc.StreamDesc{}, d.Streams...)
	for _, m := range d.Methods {
		streams.Streams = append(streams.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: r.s.asStream(m), ServerStreams: true, ClientStreams: true})
	}
	r.Server.RegisterService(&streams, impl)
}

func (s *grpcAPI) asStream(m grpc.MethodDesc) grpc.StreamHandler {
	inTurn := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		ctx, _, end, err := s.turn(ctx, callUnits)
		if err != nil {
			return nil, err
		}
		defer end()
		answer, err := handle(ctx, req)
		if err != nil && !isStatus(err) {
			err = s.fault("serve "+m.MethodName, err)
		}
		s.logUnarySteering(ctx, req, err)
		return answer, err
	}
	return func(srv any, stream grpc.ServerStream) error {
		answer, err := m.Handler(srv, stream.Context(), stream.RecvMsg, inTurn)
		if err != nil {
			return err
		}
		return stream.SendMsg(answer)
	}
}

func unknownCall(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	return status.Errorf(codes.Unimplemented, "unknown method %.200q", method)
}

// wireCredentials make a Wire of each connection, on TLS if there are certificates.
type wireCredentials struct{ s *grpcAPI }

// wireInfo is how calls find the Wire that carries them.
type wireInfo struct {
	credentials.CommonAuthInfo
	wire *admit.Wire
}

// AuthType implements credentials.AuthInfo.
func (wireInfo) AuthType() string { return "firstseen" }

// ServerHandshake implements credentials.TransportCredentials.
func (c wireCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner := conn
	if c.s.keys != nil {
		var err error
		if inner, _, err = credentials.NewTLS(c.s.keys.config("h2")).ServerHandshake(conn); err != nil {
			return nil, nil, err
		}
	}
	w := admit.NewWire(conn.(*admit.Conn), inner, admit.WireConfig{ // our listener's
		Received: c.s.admission.received, Strange: c.s.admission.strange, Resets: c.s.admission.resets, Patience: c.s.patience})
	return w, wireInfo{wire: w}, nil
}

// Info implements credentials.TransportCredentials.
func (wireCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "firstseen"}
}

// ClientHandshake implements credentials.TransportCredentials, which a server doesn't use.
func (wireCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errBroken
}

// Clone implements credentials.TransportCredentials.
func (c wireCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials. A server does not use it.
func (wireCredentials) OverrideServerName(string) error { return nil }

// countCall counts known calls only, so that a client can't make up labels.
func (s *grpcAPI) countCall(method string, err error) {
	if _, ok := calls[method]; ok {
		s.count.calls.WithLabelValues(path.Base(method), status.Code(err).String()).Inc()
	}
}

// tap admits a call when its headers were read. It refuses none itself: gRPC would keep what
// it has of a call that is refused here until the call's deadline. serveCall refuses it.
func (s *grpcAPI) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx)
	wire := p.AuthInfo.(wireInfo).wire // of wireCredentials
	c := &call{method: info.FullMethodName, access: accessOf(info.FullMethodName), cut: wire.Abort}
	ctx, cancel := context.WithCancelCause(ctx)
	c.end = func(err error) {
		if handler := c.handler.Load(); handler != nil {
			(*handler)(err)
			time.AfterFunc(endGrace, func() { cancel(err) })
			return
		}
		cancel(err)
	}
	err := s.identify(c, header(info.Header), wire.Client())
	known := err == nil && c.need != Open
	if !known && !wire.IsKnown() {
		wire.Pause(s.admission.asking.Next(wire.Client(), 1)) // gRPC holds a lock here
	}
	switch {
	case err != nil:
		if wire.Failed() > strangeFailures && !wire.IsKnown() {
			wire.Abort()
		}
	case known:
		err = s.admission.enter(c, s.admission.calls)
	default:
		err = s.admission.enterOpen(c)
	}
	c.refused = err
	c.stream = wire.Opened(c.client, known, func() { s.admission.leave(c) })
	return context.WithValue(ctx, callKey{}, c), nil
}

func header(md metadata.MD) string {
	if v := md.Get("authorization"); len(v) > 0 {
		return v[0]
	}
	return ""
}

// endGrace is how long the handler of a call that was ended has to return, before it can
// send and receive no more: then gRPC would answer with an error of its own.
const endGrace = time.Second

// linger is how long streams that only watch, such as health's, have to learn of a drain.
// They would never end by themselves.
const linger = 250 * time.Millisecond

// serveCall serves a call that was admitted, and refuses the others.
func (s *grpcAPI) serveCall(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	c := callOf(stream.Context())
	defer func() { c.done.Store(time.Now().UnixNano()) }()
	defer func() { s.countCall(c.method, err) }()
	if c.refused != nil {
		return c.refused
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	c.handler.Store(&cancel)
	if s.isDraining() && !isWork(c.method) { // endWatches may have passed
		defer time.AfterFunc(linger, func() { c.end(errDraining) }).Stop()
	}
	defer func() { // a call that was ended answers why
		if cause := context.Cause(ctx); err != nil && cause != nil && isStatus(cause) {
			err = cause
		}
	}()
	defer s.recovered(c.method, &err)
	return next(srv, &callStream{ServerStream: stream, ctx: ctx, call: c, wire: c.stream, work: isWork(c.method)})
}

func isStatus(err error) bool {
	_, ok := status.FromError(err)
	return ok
}

// callStream is the stream of a call. Its context ends when the call is ended.
type callStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	wire *admit.Stream // of call, which others write to
	work bool          // see isWork
	in   sized         // the message that is received
}

// Context implements grpc.ServerStream.
func (s *callStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. In a call that only watches, it returns when the
// context ends; the goroutine that still receives then ends with the call.
func (s *callStream) RecvMsg(m any) error {
	if s.work {
		return s.receive(m)
	}
	received := make(chan error, 1)
	go func() { received <- s.receive(m) }()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

func (s *callStream) receive(m any) error {
	s.in.message = m
	err := s.ServerStream.RecvMsg(&s.in)
	if err == nil {
		s.wire.Delivered(s.in.bytes)
	}
	return err
}

// SendMsg implements grpc.ServerStream.
func (s *callStream) SendMsg(m any) error {
	if s.call.sends() {
		defer s.call.sent()
	}
	return s.ServerStream.SendMsg(m)
}

// logUnarySteering is withSteeringLog for a call over gRPC.
func (s *grpcAPI) logUnarySteering(ctx context.Context, req any, err error) {
	c := callOf(ctx)
	if c == nil || c.need != Admin {
		return
	}
	request := ""
	if m, ok := req.(proto.Message); ok {
		request = prototext.MarshalOptions{}.Format(m)
	}
	s.logSteering(ctx, c, request, status.Code(err).String())
}

// isWork reports whether a call does something, and does not only watch: a drain waits for it.
func isWork(method string) bool {
	return strings.HasPrefix(method, "/"+frontierpb.URLFrontier_ServiceDesc.ServiceName+"/")
}

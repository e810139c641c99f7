package main

import (
	"context"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/cmd/internal/tools/measured"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// target is a server under test and its address.
type target struct {
	*measured.Server
	addr string
}

// startOurs starts firstseen serve with acks that are synced, and exact text
// as identity if so asked: the peer has no other.
func startOurs(ctx context.Context, binary, profile string) (*target, error) {
	return start(ctx, "firstseen "+profile, func(dir string, addrs []string) []string {
		return []string{binary, "serve", "--db", filepath.Join(dir, "db"), "--grpc", addrs[0],
			"--http", addrs[1], "--profile", profile, "--log-level", "warn"}
	})
}

// startPeer starts URLFrontier with its RocksDB service and the heap of its
// Docker image.
func startPeer(ctx context.Context, jar string) (*target, error) {
	return start(ctx, "urlfrontier", func(dir string, addrs []string) []string {
		host, port, _ := strings.Cut(addrs[0], ":")
		return []string{"java", "-Xmx2G", "-XX:+UseG1GC", "-jar", jar, "-h", host, "-p", port,
			"implementation=crawlercommons.urlfrontier.service.rocksdb.RocksDBService", "rocksdb.path=" + filepath.Join(dir, "rocks")}
	})
}

func start(ctx context.Context, name string, command func(dir string, addrs []string) []string) (*target, error) {
	s, err := measured.Start(ctx, measured.Spec{
		Name:    name,
		Ports:   2,
		Command: func(dir string, addrs []string) ([]string, error) { return command(dir, addrs), nil },
		Ready:   ready,
	})
	if err != nil {
		return nil, err
	}
	return &target{s, s.Addrs[0]}, nil
}

// ready waits until the server answers.
func ready(ctx context.Context, s *measured.Server) error {
	c, closeConn, err := dial(s.Addrs[0])
	if err != nil {
		return err
	}
	defer closeConn()
	_, err = c.GetActive(ctx, &pb.Local{}, grpc.WaitForReady(true))
	return err
}

func dial(addr string) (pb.URLFrontierClient, func(), error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return pb.NewURLFrontierClient(conn), func() { _ = conn.Close() }, nil
}

package frontierpb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// The stubs alone talk to any server of the protocol: `firstseen serve`, or
// URLFrontier itself. Here it is one of a few lines, below.
func ExampleNewURLFrontierClient() {
	addr, stop := serve()
	defer stop()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	frontier := frontierpb.NewURLFrontierClient(conn)

	stream, err := frontier.PutDiscovered(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	batch := &frontierpb.DiscoveredBatch{ID: "1", Items: []*frontierpb.URLInfo{{Url: "http://example.org/"}, {Url: "http://example.org/"}}}
	if err := errors.Join(stream.Send(batch), stream.CloseSend()); err != nil {
		log.Fatal(err)
	}
	ack, err := stream.Recv()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ack.ID, ack.Statuses)

	due, err := frontier.GetURLs(context.Background(), &frontierpb.GetParams{MaxQueues: 10, MaxUrlsPerQueue: 1, DelayRequestable: 60})
	if err != nil {
		log.Fatal(err)
	}
	for {
		info, err := due.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fetch", info.Url)
	}
	// Output:
	// 1 [OK SKIPPED]
	// fetch http://example.org/
}

// toy is a server that stores URLs and returns them.
type toy struct {
	frontierpb.UnimplementedURLFrontierServer
	mu   sync.Mutex
	urls []string
}

func serve() (addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	frontierpb.RegisterURLFrontierServer(s, &toy{})
	go func() { _ = s.Serve(l) }() // ends with Stop
	return l.Addr().String(), s.Stop
}

func (t *toy) PutDiscovered(stream frontierpb.URLFrontier_PutDiscoveredServer) error {
	batch, err := stream.Recv()
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := make(map[string]bool)
	ack := &frontierpb.BatchAck{ID: batch.ID}
	for _, item := range batch.Items {
		status := frontierpb.AckMessage_SKIPPED
		if !seen[item.Url] {
			seen[item.Url], status = true, frontierpb.AckMessage_OK
			t.urls = append(t.urls, item.Url)
		}
		ack.Statuses = append(ack.Statuses, status)
	}
	return stream.Send(ack)
}

func (t *toy) GetURLs(_ *frontierpb.GetParams, stream frontierpb.URLFrontier_GetURLsServer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, url := range t.urls {
		if err := stream.Send(&frontierpb.URLInfo{Url: url, Key: "example.org", CrawlID: "DEFAULT"}); err != nil {
			return err
		}
	}
	return nil
}

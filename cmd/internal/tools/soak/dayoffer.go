//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// offering is a way to offer URLs to the daemon.
type offering interface {
	send(ctx context.Context, urls []string) error
	// receive returns which URLs are new, of the earliest batch that was sent and not answered. After an error all such are lost.
	receive() ([]bool, error)
}

// streamOffers is a stream of PutDiscovered, opened anew after an error.
type streamOffers struct {
	client frontierpb.URLFrontierClient
	stream frontierpb.URLFrontier_PutDiscoveredClient
	cancel context.CancelFunc // ends the stream
}

// dialDay connects to a daemon that may be down for a moment.
func dialDay(addr string) (*grpc.ClientConn, error) {
	again := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 200 * time.Millisecond}
	return grpc.NewClient("passthrough:"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: time.Second}))
}

func (o *streamOffers) send(ctx context.Context, urls []string) (err error) {
	if o.stream == nil {
		ctx, o.cancel = context.WithCancel(ctx)
		if o.stream, err = o.client.PutDiscovered(ctx); err != nil {
			return o.broken(err)
		}
	}
	items := make([]frontierpb.URLInfo, len(urls))
	batch := frontierpb.DiscoveredBatch{Items: make([]*frontierpb.URLInfo, len(urls))}
	for i, url := range urls {
		items[i].Url, batch.Items[i] = url, &items[i]
	}
	return o.broken(o.stream.Send(&batch))
}

func (o *streamOffers) receive() ([]bool, error) {
	ack, err := o.stream.Recv()
	if err == nil && slices.Contains(ack.GetStatuses(), frontierpb.AckMessage_FAIL) {
		err = errors.New("got FAIL for a URL")
	}
	if err != nil {
		return nil, o.broken(err)
	}
	isNew := make([]bool, len(ack.GetStatuses()))
	for i, status := range ack.GetStatuses() {
		isNew[i] = status == frontierpb.AckMessage_OK
	}
	return isNew, nil
}

// broken ends the stream if there is an error.
func (o *streamOffers) broken(err error) error {
	if err != nil {
		o.cancel()
		o.stream = nil
	}
	return err
}

// textOffers posts lines of text, and so has one batch in flight.
type textOffers struct {
	api   *api
	isNew []bool
}

func (o *textOffers) send(ctx context.Context, urls []string) error {
	answer, err := o.api.sendAs(ctx, "text/plain", http.MethodPost, "/v1/urls?brief", []byte(strings.Join(urls, "\n")))
	o.isNew = nil
	for dec := json.NewDecoder(bytes.NewReader(answer)); err == nil && dec.More(); {
		var v verdict
		err = dec.Decode(&v)
		o.isNew = append(o.isNew, v.Verdict == "new")
	}
	return err
}

func (o *textOffers) receive() ([]bool, error) { return o.isNew, nil }

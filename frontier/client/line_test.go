package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store"
)

// finished is a transport to a daemon with nothing queued. A request that stays gets no answer until
// release is closed, even if it is canceled: its answer was in flight.
type finished struct {
	stayed  chan struct{} // a value for each request that stays
	release chan struct{}
}

func (f *finished) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := `{}`
	if r.URL.Path == "/v1/lease" {
		var b struct{ Stay bool }
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			return nil, err
		}
		if answer = `{"finished":true}`; b.Stay {
			answer = `{}`
			f.stayed <- struct{}{}
			<-f.release
			time.Sleep(25 * time.Second)
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// TestTheEndIsToldToWhoComesLate has a loop join while the answer to a request that
// stayed is on the way, too late to stop it: the next must not stay.
func TestTheEndIsToldToWhoComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &finished{stayed: make(chan struct{}, 8), release: make(chan struct{})}
		c, err := client.Open(t.Context(), client.Over(f))
		if err != nil {
			t.Fatal(err)
		}
		stays, ended := make(chan error, 1), make(chan struct{})
		go func() {
			_, err := c.Next(t.Context())
			stays <- err
		}()
		<-f.stayed
		go func() {
			for l, err := range c.Leases(t.Context()) {
				t.Errorf("got %v, %v; want the end", l, err)
			}
			close(ended)
		}()
		synctest.Wait() // it waits in line
		close(f.release)
		<-ended
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-stays; !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
	})
}

// counting is a transport to a daemon that answers everything by nothing.
type counting struct{ requests atomic.Int64 }

func (c *counting) RoundTrip(*http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

// late is a context whose end is seen late.
type late struct{ context.Context }

func (c late) Done() <-chan struct{} {
	time.Sleep(time.Second)
	return c.Context.Done()
}

// TestWhatIsOverIsNotSent calls with a context that has ended, and waits long enough for a
// request.
func TestWhatIsOverIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &counting{}
		c, err := client.Open(t.Context(), client.Over(sent))
		if err != nil {
			t.Fatal(err)
		}
		greeting := sent.requests.Load()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Add(late{over}, "http://a.example/"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want the context's error", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := sent.requests.Load() - greeting; n != 0 {
			t.Errorf("got %d requests; want none", n)
		}
	})
}

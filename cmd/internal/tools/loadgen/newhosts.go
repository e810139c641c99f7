package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A broad crawl finds new hosts all the time: each URL is the first of its queue. runNewHosts offers as many URLs of as many
// hosts, by each way in, on a fresh server with default settings, and shows what the last tenth costs; beside it, as many URLs
// of one host.
func (s *settings) runNewHosts(ctx context.Context) error {
	for door := range strings.SplitSeq(s.doors, ",") {
		for _, hosts := range []int{1, s.newHosts} {
			if err := s.offerNewHosts(ctx, door, hosts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *settings) offerNewHosts(ctx context.Context, door string, hosts int) (err error) {
	t, err := startOurs(ctx, s.ours, "qiita")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Stop()) }()
	part := s.newHosts / 10
	for _, r := range [][2]int{{0, part}, {part, 9 * part}, {9 * part, 10 * part}} {
		name := fmt.Sprintf("%s x%d, %d hosts, from URL %d", door, s.batch, hosts, r[0])
		got, err := t.measure(ctx, name, func(t *target) (result, error) { return t.offer(ctx, door, r[0], r[1], s.batch, hosts) })
		if err != nil {
			return err
		}
		got.print(t.Name)
	}
	fmt.Printf("| %s | disk: %d MB | | | | | | |\n", t.Name, t.DiskMB())
	return nil
}

// offer offers the URLs from lo up to hi over two connections.
func (t *target) offer(ctx context.Context, door string, lo, hi, batch, hosts int) (result, error) {
	host := func(i int) string { return fmt.Sprintf("www.host%d.example", mix(uint64(i%hosts))>>20) }
	url := func(i int) string {
		return fmt.Sprintf("https://%s/section/%x/page-%d.html", host(i), mix(uint64(i))>>44, i)
	}
	if door == "grpc" {
		var urls [][]byte
		for i := lo; i < hi; i++ {
			urls = append(urls, encodeInfo(url(i), host(i)))
		}
		return t.putDiscovered(urls, batch, 4*batch)
	}
	kind, line := "text/plain", func(i int) string { return url(i) + "\n" }
	if door == "json" {
		kind, line = "application/x-ndjson", func(i int) string { return fmt.Sprintf("{\"url\":%q}\n", url(i)) }
	}
	var wg sync.WaitGroup
	var errs [2]error
	for k := range errs {
		wg.Go(func() {
			for i := lo + k*batch; i < hi && errs[k] == nil; i += 2 * batch {
				var body bytes.Buffer
				for j := i; j < min(i+batch, hi); j++ {
					body.WriteString(line(j))
				}
				errs[k] = post(ctx, "http://"+t.Addrs[1]+"/v1/urls?brief", kind, &body)
			}
		})
	}
	wg.Wait()
	return result{urls: int64(hi - lo)}, errors.Join(errs[:]...)
}

// post offers URLs, all of which must be new.
func post(ctx context.Context, to, kind string, body *bytes.Buffer) error {
	n := bytes.Count(body.Bytes(), []byte("\n"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(res.Body)
	if got := bytes.Count(answer, []byte(`"new"`)); err == nil && got != n {
		err = fmt.Errorf("got %d of %d URLs as new, HTTP status %d: %.200s", got, n, res.StatusCode, answer)
	}
	return errors.Join(err, res.Body.Close())
}

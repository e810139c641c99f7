//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// api asks the daemon by HTTP.
type api struct {
	base string
	http http.Client
}

func newAPI(addr string) *api {
	return &api{base: "http://" + addr, http: http.Client{Timeout: 30 * time.Second}}
}

// send posts a body and returns the answer; an answer that isn't 200 is an error.
func (a *api) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return a.sendAs(ctx, "application/json", method, path, body)
}

// sendAs is send for a body of a kind.
func (a *api) sendAs(ctx context.Context, kind, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %.200s", path, resp.StatusCode, answer)
	}
	return answer, err
}

func (a *api) ask(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	if text, err = a.send(ctx, method, path, text); err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// verdict is a line of the answer of /v1/urls.
type verdict struct {
	ID, Verdict string
	Requeued    bool
}

// offer offers pages in some spelling; the answers name each by its number.
func (a *api) offer(ctx context.Context, urls []offered) ([]verdict, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	for _, u := range urls {
		if err := enc.Encode(u); err != nil {
			return nil, err
		}
	}
	answer, err := a.send(ctx, http.MethodPost, "/v1/urls", body.Bytes())
	if err != nil {
		return nil, err
	}
	verdicts := make([]verdict, 0, len(urls))
	for dec := json.NewDecoder(bytes.NewReader(answer)); ; {
		var v verdict
		switch err := dec.Decode(&v); {
		case err == io.EOF:
			return verdicts, nil
		case err != nil:
			return verdicts, err
		}
		verdicts = append(verdicts, v)
	}
}

type offered struct {
	URL   string `json:"url"`
	ID    string `json:"id"`
	Force bool   `json:"force,omitempty"`
}

type leased struct {
	Crawl, Key, Token, URL, Queue string
	Attempts                      int
	Expires                       time.Time
}

type settlement struct {
	Crawl    string    `json:"crawl"`
	Key      string    `json:"key"`
	Token    string    `json:"token"`
	Attempts int       `json:"attempts"`
	Outcome  string    `json:"outcome"`
	At       time.Time `json:"at,omitzero"`
}

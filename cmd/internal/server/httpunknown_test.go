package server

import (
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestUnknown calls what does not exist: the answers say what to call.
func TestUnknown(t *testing.T) {
	r := start(t, canon.None(), Config{})
	for call, want := range map[string]string{
		"GET /v1/lease":                  "405\n" + `{"error":{"code":"method","message":"cannot call \"/v1/lease\"; got GET; want POST"}}`,
		"PUT /v1/traps":                  "405\n" + `{"error":{"code":"method","message":"cannot call \"/v1/traps\"; got PUT; want GET, POST"}}`,
		"POST /":                         "405\n" + `{"error":{"code":"method","message":"cannot call \"/\"; got POST; want GET"}}`,
		"POST /healthz":                  "405\n" + `{"error":{"code":"method","message":"cannot call \"/healthz\"; got POST; want GET"}}`,
		"GET /v1/nope":                   "404\n" + `{"error":{"code":"path","message":"cannot call \"/v1/nope\"; no such path; /openapi.json lists them"}}`,
		"GET /v1/queues?qeue=x":          "400\n" + `{"error":{"code":"invalid","message":"cannot call GET /v1/queues; got the query parameter \"qeue\"; want crawl, queue, search, after, limit, order"}}`,
		"POST /v1/urls?brieff":           "400\n" + `{"error":{"code":"invalid","message":"cannot call POST /v1/urls; got the query parameter \"brieff\"; want brief, crawl, queue, priority, depth, unless_fetched_after"}}`,
		"GET /v1/queues?queue=x&order=y": "400\n" + `{"error":{"code":"invalid","message":"cannot call GET /v1/queues; got order \"y\"; want name or waiting"}}`,
		"GET /v1/queues?queue=x&limit=0": "400\n" + `{"error":{"code":"invalid","message":"cannot call GET /v1/queues; got limit 0; want 1 to 10000"}}`,
		"GET /v1/history?crawl=c":        "400\n" + `{"error":{"code":"invalid","message":"cannot call GET /v1/history; got the query parameter \"crawl\"; want none"}}`,
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := strings.TrimSpace(r.request(t, method, path, "")); got != want {
			t.Errorf("%s: got %s; want %s", call, got, want)
		}
	}
	for _, path := range []string{"/metrics?x=1", "/?x=1", "/openapi.json?x=1", "/healthz?x=1"} {
		if got := r.request(t, "GET", path, ""); !strings.HasPrefix(got, "200") {
			t.Errorf("%s: got %.100s; want it allowed", path, got)
		}
	}
}

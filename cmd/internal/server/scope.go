package server

import (
	"fmt"

	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// Scope is what a token allows. Each scope includes those before it.
type Scope uint8

// The scopes. Open needs no token at all: health, and the page of the
// dashboard, which holds no data.
const (
	Open  Scope = iota
	Read        // counts, listings, look-ups
	Write       // put, lease, settle
	Admin       // delete, purge, pause, settings
)

var scopeNames = [...]string{Open: "open", Read: "read", Write: "write", Admin: "admin"}

// String returns the scope as typed in a token file.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope %d", uint8(s))
}

func parseScope(name string) (Scope, error) {
	for s := Read; s <= Admin; s++ {
		if scopeNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("cannot read scope; got %q; want read, write or admin", name)
}

// callScopes has the scope that each gRPC call needs. A call that isn't here needs
// Admin, so that a new call is restricted by default.
var callScopes = map[string]Scope{
	frontierpb.URLFrontier_GetStats_FullMethodName:     Read,
	frontierpb.URLFrontier_ListQueues_FullMethodName:   Read,
	frontierpb.URLFrontier_ListCrawls_FullMethodName:   Read,
	frontierpb.URLFrontier_ListNodes_FullMethodName:    Read,
	frontierpb.URLFrontier_ListURLs_FullMethodName:     Read,
	frontierpb.URLFrontier_CountURLs_FullMethodName:    Read,
	frontierpb.URLFrontier_GetURLStatus_FullMethodName: Read,
	frontierpb.URLFrontier_GetActive_FullMethodName:    Read,

	frontierpb.URLFrontier_PutURLs_FullMethodName:         Write,
	frontierpb.URLFrontier_PutDiscovered_FullMethodName:   Write,
	frontierpb.URLFrontier_GetURLs_FullMethodName:         Write,
	frontierpb.URLFrontier_BlockQueueUntil_FullMethodName: Write,
	frontierpb.URLFrontier_SetDelay_FullMethodName:        Write,

	frontierpb.URLFrontier_SetCrawlLimit_FullMethodName: Admin,
	frontierpb.URLFrontier_PurgeURLs_FullMethodName:     Admin,
	frontierpb.URLFrontier_DeleteQueue_FullMethodName:   Admin,
	frontierpb.URLFrontier_DeleteCrawl_FullMethodName:   Admin,
	frontierpb.URLFrontier_SetActive_FullMethodName:     Admin,
	frontierpb.URLFrontier_SetLogLevel_FullMethodName:   Admin,

	"/grpc.health.v1.Health/Check":                                   Open,
	"/grpc.health.v1.Health/Watch":                                   Open,
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      Read,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": Read,
}

// ofCrawls has the calls that a token with a list of crawls may make, because guard checks the
// crawl of all that they read and change, and which rate of the token they count for. A call that
// is not here concerns all crawls.
var ofCrawls = map[string]rateKind{
	frontierpb.URLFrontier_GetStats_FullMethodName:        noRate,
	frontierpb.URLFrontier_ListQueues_FullMethodName:      noRate,
	frontierpb.URLFrontier_ListCrawls_FullMethodName:      noRate,
	frontierpb.URLFrontier_ListNodes_FullMethodName:       noRate,
	frontierpb.URLFrontier_ListURLs_FullMethodName:        noRate,
	frontierpb.URLFrontier_CountURLs_FullMethodName:       noRate,
	frontierpb.URLFrontier_GetURLStatus_FullMethodName:    noRate,
	frontierpb.URLFrontier_GetActive_FullMethodName:       noRate,
	frontierpb.URLFrontier_PutURLs_FullMethodName:         addRate,
	frontierpb.URLFrontier_PutDiscovered_FullMethodName:   addRate,
	frontierpb.URLFrontier_GetURLs_FullMethodName:         leaseRate,
	frontierpb.URLFrontier_BlockQueueUntil_FullMethodName: noRate,
	frontierpb.URLFrontier_SetDelay_FullMethodName:        noRate,
	frontierpb.URLFrontier_SetCrawlLimit_FullMethodName:   noRate,
	frontierpb.URLFrontier_PurgeURLs_FullMethodName:       noRate,
	frontierpb.URLFrontier_DeleteQueue_FullMethodName:     noRate,
	frontierpb.URLFrontier_DeleteCrawl_FullMethodName:     noRate,

	"POST /v1/urls":     addRate,
	"POST /v1/seen":     addRate,
	"POST /v1/import":   addRate,
	"POST /v1/redirect": addRate,
	"POST /v1/lease":    leaseRate,
	"POST /v1/done":     noRate,
	"POST /v1/queue":    noRate,
	"POST /v1/forget":   noRate,
	"POST /v1/crawl":    noRate,
	"GET /v1/export":    noRate,
	"GET /v1/explain":   noRate,
	"GET /v1/stats":     noRate,
	"GET /v1/queues":    noRate,
}

func scopeOfCall(fullMethod string) Scope {
	if s, ok := callScopes[fullMethod]; ok {
		return s
	}
	return Admin
}

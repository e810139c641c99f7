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

func scopeOfCall(fullMethod string) Scope {
	if s, ok := callScopes[fullMethod]; ok {
		return s
	}
	return Admin
}

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var httpStatus = map[codes.Code]int{
	codes.NotFound:           http.StatusNotFound,
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.FailedPrecondition: http.StatusConflict,
	codes.ResourceExhausted:  http.StatusInsufficientStorage,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
	codes.Canceled:           http.StatusServiceUnavailable,
}

var faultCode = map[int]string{
	http.StatusNotFound:              "not-found",
	http.StatusBadRequest:            "invalid",
	http.StatusConflict:              "stale",
	http.StatusInsufficientStorage:   "disk-low",
	http.StatusServiceUnavailable:    "unavailable",
	http.StatusGatewayTimeout:        "timeout",
	http.StatusInternalServerError:   "internal",
	http.StatusRequestEntityTooLarge: "too-large",
}

// writeFault answers with an error of the frontier, and logs what isn't the
// client's doing.
func (s *Server) writeFault(w http.ResponseWriter, what string, err error) {
	err = s.fault(what, err)
	code, ok := httpStatus[codeOf(err)]
	if !ok {
		code = http.StatusInternalServerError
	}
	writeError(w, code, faultCode[code], status.Convert(err).Message())
}

// readJSON reads a body that is one JSON value of T and nothing else.
func readJSON[T any](s *Server, w http.ResponseWriter, r *http.Request) (v T, ok bool) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxMessage)))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("cannot read body; got more than one JSON value")
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return v, true
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusRequestEntityTooLarge, "too-large", err.Error())
	default:
		writeError(w, http.StatusBadRequest, "json", err.Error())
	}
	return v, false
}

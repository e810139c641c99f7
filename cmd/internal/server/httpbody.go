package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// httpFaults maps gRPC codes to HTTP answers. Any other code is an internal error.
var httpFaults = map[codes.Code]refusal{
	codes.NotFound:           {status: http.StatusNotFound, code: "not-found"},
	codes.InvalidArgument:    {status: http.StatusBadRequest, code: "invalid"},
	codes.FailedPrecondition: {status: http.StatusConflict, code: "stale"},
	codes.ResourceExhausted:  {status: http.StatusInsufficientStorage, code: "disk-low"},
	codes.Unavailable:        {status: http.StatusServiceUnavailable, code: "unavailable"},
	codes.DeadlineExceeded:   {status: http.StatusGatewayTimeout, code: "timeout"},
	codes.Canceled:           {status: http.StatusServiceUnavailable, code: "unavailable"},
	codes.PermissionDenied:   {status: http.StatusForbidden, code: "forbidden"},
	codes.Unauthenticated:    {status: http.StatusUnauthorized, code: "unauthenticated"},
}

// refusedAs is an error with an answer of its own.
func refusedAs(status int, code, message string) error { return &refusal{status, code, message} }

type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string { return r.message }

// writeFault answers with an error, and logs it unless the client caused it.
func (s *httpAPI) writeFault(w http.ResponseWriter, what string, err error) {
	var own *refusal
	switch {
	case errors.As(err, &own):
		writeError(w, own.status, own.code, own.message)
		return
	case errors.Is(err, errBusy):
		writeError(w, http.StatusTooManyRequests, "busy", status.Convert(err).Message())
		return
	}
	identity := errors.Is(err, store.ErrIdentity)
	err = s.fault(what, err)
	is, ok := httpFaults[codeOf(err)]
	switch {
	case !ok:
		is = refusal{status: http.StatusInternalServerError, code: "internal"}
	case identity:
		is.code = "conflict" // no lease is stale
	}
	writeError(w, is.status, is.code, status.Convert(err).Message())
}

// posted makes the handler of a route whose body and answer are JSON. It does the work in a turn of so many units; with 0, do
// has turns of its own. What the body held is given back before the answer is written, which a client may be slow to read.
func posted[B, A any](s *httpAPI, what string, units int, do func(context.Context, *B) (A, error)) http.HandlerFunc {
	work := func(ctx context.Context, body *B) (answer A, err error) {
		if units == 0 {
			return do(ctx, body)
		}
		err = s.inTurn(ctx, units, func(ctx context.Context) (err error) {
			answer, err = do(ctx, body)
			return err
		})
		return answer, err
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, held, ok := readJSON[B](s, w, r)
		defer held.done()
		if ok {
			answer, err := work(r.Context(), &body)
			held.done()
			s.answer(w, what, answer, err)
		}
	}
}

// asked makes the handler of a route without a body, whose answer is JSON.
func asked[A any](s *httpAPI, what string, do func(context.Context, url.Values) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := do(r.Context(), r.URL.Query())
		s.answer(w, what, answer, err)
	}
}

func (s *httpAPI) answer(w http.ResponseWriter, what string, answer any, err error) {
	if err != nil {
		s.writeFault(w, what, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// stream answers with what do writes, and with an error if do fails before the answer has begun. After that, a failure
// breaks the answer off, so that the client does not take it for a whole one. The server's drain ends the context of do.
func (s *httpAPI) stream(w http.ResponseWriter, r *http.Request, what string, do func(ctx context.Context, w io.Writer) error) {
	ctx, done := withEnd(r.Context(), s.draining)
	defer done()
	answer := &statusWriter{ResponseWriter: w}
	out := bufio.NewWriterSize(answer, answerPiece)
	err := do(ctx, out)
	if err == nil {
		err = out.Flush()
	} else if s.isDraining() {
		err = errDraining
	}
	switch {
	case err == nil && answer.status == 0:
		w.WriteHeader(http.StatusOK) // there is nothing to write
	case err == nil:
	case answer.status == 0:
		clear(w.Header()) // they are of the answer that was to be
		s.writeFault(w, what, err)
	default:
		if r.Context().Err() == nil {
			s.log.Error("an answer ended early", "to", what, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}

const (
	// costOfJSON is about what a byte of a body costs in memory until it is answered, and costOfElement what an element of a
	// list costs, however short. Elements of few bytes cost more than their bytes.
	costOfJSON    = 16
	costOfElement = 512
	// smallBody is the size up to which a body needs no share of memory, so that a client that
	// leases or settles a few URLs does not wait for bulk. The bound of calls bounds these.
	smallBody = 4 << 10
	fewOf     = 64 // elements of a small body
)

// readJSON reads a body that is one JSON value of T and nothing else. What it holds is the caller's to
// give back, whatever it returns.
func readJSON[T any](s *httpAPI, w http.ResponseWriter, r *http.Request) (v T, held *holding, ok bool) {
	held = s.inHand(r.Context())
	raw := s.received(r.Context())
	defer raw.done()
	body, err := s.readBody(w, r, raw)
	if n := countElements(body); err == nil && (len(body) > smallBody || n > fewOf) {
		err = held.take(r.Context(), int64(max(costOfJSON*len(body), costOfElement*n)))
	}
	if err == nil {
		err = decodeJSON(body, &v, s.shapeOf(reflect.TypeFor[T]()))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return v, held, true
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusRequestEntityTooLarge, "too-large", err.Error())
	case errors.Is(err, errBusy):
		s.writeFault(w, "read", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		writeError(w, http.StatusRequestTimeout, "timeout", "cannot read body in time")
	default:
		writeMisshapen(w, "cannot read body", err)
	}
	return v, held, false
}

// readBody reads a body. One that isn't small is charged before it is received. From then
// on it may take a minute; net/http lifts the limit at the end of the body, so that it ends
// no request that waits for a lease.
func (s *httpAPI) readBody(w http.ResponseWriter, r *http.Request, held *holding) ([]byte, error) {
	deadline := func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lineTimeout)) }
	body := http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxMessage))
	deadline()
	first := make([]byte, smallBody+1)
	n, err := io.ReadFull(body, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return first[:n], nil
	}
	if err != nil {
		return nil, err
	}
	size := r.ContentLength
	if size < 0 {
		size = int64(s.cfg.MaxMessage)
	}
	if err := held.take(r.Context(), size); err != nil {
		return nil, err
	}
	deadline()
	rest, err := io.ReadAll(body)
	return append(first, rest...), err
}

// decodeJSON reads a body into a value of the type of a shape.
func decodeJSON[T any](body []byte, v *T, s *shape) error {
	if n := countElements(body); n > maxItems {
		return misshapen("too-long", "got a list of %d elements; want at most %d", n, maxItems)
	}
	if err := logs.CheckJSON(body); err != nil {
		return fmt.Errorf("%w; send a URL that is not UTF-8 as url_bytes or target_bytes, in base64", err)
	}
	return decode(s, body, v)
}

// countElements counts the elements of the lists in the object that a body is,
// whatever they are.
func countElements(body []byte) int {
	n, depth, inText := 1, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 2:
			n++
		}
	}
	return n
}

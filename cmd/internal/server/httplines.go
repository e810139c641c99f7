package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

const (
	// linesAtOnce is how many lines share a commit at most.
	linesAtOnce = 1024
	// lineTimeout is how long a client may take for the next piece of its body,
	// or for reading the next piece of the answer.
	lineTimeout = time.Minute
)

// postURLs queues the URLs of the body's lines, and answers each with a line,
// in order.
func (s *httpAPI) postURLs(w http.ResponseWriter, r *http.Request) {
	s.answerOffers(w, r, s.guardedAdd, nil)
}

// postSeen records the URLs of the body's lines as seen without queueing them,
// and answers in the same way: a duplicate filter for crawlers that keep their
// own queue.
func (s *httpAPI) postSeen(w http.ResponseWriter, r *http.Request) {
	s.answerOffers(w, r, s.guardedSee, s.f.Peek)
}

// answerOffers answers the lines of a body, which are JSON or, as text/plain, URLs as they stand. The query has the defaults of
// all lines.
func (s *httpAPI) answerOffers(w http.ResponseWriter, r *http.Request, offer, peek offering) {
	q := r.URL.Query()
	all := wire.URLLine{Crawl: q.Get("crawl"), Queue: q.Get("queue")}
	priority, _ := strconv.Atoi(q.Get("priority")) // they were checked
	all.Depth, _ = strconv.Atoi(q.Get("depth"))
	all.Priority, all.UnlessFetchedAfter = uint8(priority), wire.Moment(q.Get("unless_fetched_after"))
	if _, err := all.UnlessFetchedAfter.At(time.Now()); err != nil {
		writeError(w, http.StatusBadRequest, "invalid", "cannot read the query; unless_fetched_after: "+err.Error())
		return
	}
	answer := s.answering(offer, peek, all, isBrief(r))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "text/plain" {
		s.streamLines(w, r, answer)
		return
	}
	s.streamLines(w, r, func(ctx context.Context, lines []bodyLine, out *bytes.Buffer) {
		for i := range lines {
			l := &lines[i]
			l.plain = l.tooLong == 0 && !bytes.HasPrefix(bytes.TrimSpace(l.text), []byte("{"))
		}
		answer(ctx, lines, out)
	})
}

// offering puts URLs into the frontier.
type offering func(context.Context, []frontier.Link) ([]frontier.Result, error)

// isBrief reports whether the client asked for the verdict and the key alone,
// which saves a read for each duplicate.
func isBrief(r *http.Request) bool { return r.URL.Query().Has("brief") }

// bodyLine is a line of a body.
type bodyLine struct {
	text    []byte // only its beginning if it is too long
	tooLong int64  // the length in bytes of a line that is longer than maxLine
	plain   bool   // it is a URL as it stands, not JSON
}

// maxLine bounds a line of a body in bytes. A URL may be in it twice, as itself and as
// its ID, and JSON and base64 make a text longer.
func (s *httpAPI) maxLine() int { return 2*(s.cfg.MaxURL+s.cfg.MaxMetadata) + 16<<10 }

// fault returns why a line can't be read as JSON, or nil. The decoder must not get text that isn't
// UTF-8: it would put U+FFFD for it, and so make one URL of several. The end of the message
// for such a text is the caller's advice.
func (l *bodyLine) fault(max int, advice string) *wire.Fault {
	if l.tooLong > 0 {
		return &wire.Fault{Code: string(frontier.ReasonTooLong), Message: fmt.Sprintf("got a line of %d bytes that begins with %.64q; want at most %d", l.tooLong, l.text, max)}
	}
	if err := logs.CheckJSON(l.text); err != nil {
		return &wire.Fault{Code: "json", Message: err.Error() + advice}
	}
	return nil
}

// lineAnswerer commits lines and appends an answer for each, in order.
type lineAnswerer func(ctx context.Context, lines []bodyLine, out *bytes.Buffer)

// streamLines answers each line of a body with a line, in order. The lines
// that have arrived are committed together, so that a client may also converse
// line by line. A client that declares the length of its body has all of it and
// waits for no answer: then as many lines as possible are committed together.
func (s *httpAPI) streamLines(w http.ResponseWriter, r *http.Request, answer lineAnswerer) {
	if s.disk.full() {
		s.writeFault(w, "add URLs", errDiskLow)
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex() // HTTP/2 has it anyway
	w.Header().Set("Content-Type", "application/x-ndjson")
	body := &chargedBody{r: r.Body, ctx: r.Context(), holding: *s.received(r.Context())}
	defer body.done()
	in := bufio.NewReaderSize(body, bodyBuffer)
	more := func() bool {
		_ = rc.SetReadDeadline(time.Now().Add(lineTimeout))
		return r.ContentLength > 0 && body.room()
	}
	var out bytes.Buffer
	for wrote := false; ; wrote = true {
		more()
		lines, end := readLines(in, s.maxLine(), more)
		held := s.inHand(r.Context())
		err := held.take(r.Context(), costOfLines(lines))
		if err == nil {
			body.next(in.Buffered())
			_, err = inTurns(r.Context(), s.gate, lines, func(ctx context.Context, some []bodyLine) ([]struct{}, error) {
				answer(ctx, some, &out)
				return nil, nil
			})
		}
		code, status := "unavailable", http.StatusServiceUnavailable
		if end != nil && !errors.Is(end, io.EOF) || r.Context().Err() != nil && err != nil {
			// The call was ended, or the client is gone; one that closed its half of the connection may still read.
			code, status, err = "body", http.StatusBadRequest, cmp.Or(end, err)
		}
		if err != nil {
			if !wrote {
				w.WriteHeader(status)
			}
			_ = lineEncoder(&out).Encode(wire.VerdictLine{Verdict: "failed", Error: &wire.Fault{Code: code, Message: "the call broke off; send again what has no answer: " + err.Error()}})
		}
		_, lost := w.Write(out.Bytes())
		if out.Reset(); out.Cap() > 4*bodyBuffer { // it was charged until now
			out = bytes.Buffer{}
		}
		held.done()
		if lost != nil || err != nil || end != nil || s.isDraining() || rc.Flush() != nil {
			return
		}
	}
}

// bodyBuffer is how many bytes of a body are read ahead. The bound of calls bounds all of them.
const bodyBuffer = 16 << 10

// bodySlab is how many bytes a body takes of the memory for received bytes at once.
const bodySlab = 64 << 10

// chargedBody reads a body. It takes memory for the bytes beyond its buffer before it reads them.
type chargedBody struct {
	r   io.Reader
	ctx context.Context
	holding
	pending int64 // bytes read since the last batch of lines
}

// Read implements io.Reader.
func (b *chargedBody) Read(p []byte) (int, error) {
	if b.pending+int64(len(p)) > bodyBuffer+b.n {
		if err := b.take(b.ctx, bodySlab); err != nil {
			return 0, err
		}
	}
	n, err := b.r.Read(p)
	b.pending += int64(n)
	return n, err
}

// room reports whether Read won't wait for memory.
func (b *chargedBody) room() bool { return b.pending+bodyBuffer <= bodyBuffer+b.n || b.try(bodySlab) }

// next frees the memory of the bytes read, except those buffered: the caller has copied it.
func (b *chargedBody) next(buffered int) {
	b.pending = int64(buffered)
	b.done()
}

// costOfLines is about what lines and their answers cost in memory.
func costOfLines(lines []bodyLine) int64 {
	n := 0
	for _, line := range lines {
		n += 2*len(line.text) + perURL
	}
	return int64(n)
}

// readLines reads at least one line, and then those that have arrived completely or that
// more allows to wait for. It returns the lines together with the error that ended them. It
// drops a line that an error cut off.
func readLines(r *bufio.Reader, max int, more func() bool) (lines []bodyLine, err error) {
	bytesRead := 0
	for len(lines) == 0 || len(lines) < linesAtOnce && bytesRead < windowBytes && (r.Buffered() > 0 || more()) {
		text, tooLong, err := logs.ReadLine(r, max)
		bytesRead += len(text)
		if cut := err != nil && !errors.Is(err, io.EOF); !cut && (tooLong > 0 || len(bytes.TrimSpace(text)) > 0) {
			lines = append(lines, bodyLine{text: text, tooLong: tooLong})
		}
		if err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// answering commits lines and writes their verdicts. Fields that a line leaves out are those of all. Lines that ask not to be recorded
// go to peek, and are answered in their turn: as if those before them were separate requests; where peek is nil, they are refused.
func (s *httpAPI) answering(offer, peek offering, all wire.URLLine, brief bool) lineAnswerer {
	return func(ctx context.Context, lines []bodyLine, out *bytes.Buffer) {
		verdicts := make([]wire.VerdictLine, len(lines))
		adds := s.addList(len(lines))
		recording := true
		commit := func() {
			s.freeAdds(adds, s.commitLines(ctx, adds, verdicts, map[bool]offering{true: offer, false: peek}[recording], brief))
		}
		var l wire.URLLine
		for i := range lines {
			l = all
			u, record, err := s.parseLine(&lines[i], &l, &verdicts[i])
			if err == nil && !record && peek == nil {
				err = &wire.Fault{Code: "json", Message: "got record false; want it in /v1/seen alone: a URL that is queued is recorded"}
			}
			if err != nil {
				verdicts[i].Verdict = "refused"
				verdicts[i].Error = err
				s.countUnread(true)
				continue
			}
			if record != recording {
				commit()
				adds, recording = s.addList(len(lines)), record
			}
			u.SkipFirst = brief
			adds.add(u, i)
		}
		commit()
		enc := lineEncoder(out)
		for i := range verdicts {
			if v := &verdicts[i]; !writePlain(out, v) {
				_ = enc.Encode(v) // no value of this type fails
			}
		}
	}
}

// writePlain writes what most verdicts are, texts without escapes, as the encoder does, and reports whether v is that.
func writePlain(out *bytes.Buffer, v *wire.VerdictLine) bool {
	if v.Requeued || v.Raised || v.SeenIn != "" || v.Error != nil || len(v.URLBytes)+len(v.FirstBytes)+len(v.Rules) > 0 {
		return false
	}
	b := append(out.AvailableBuffer(), '{')
	for _, f := range [...]struct{ name, text string }{{"id", v.ID}, {"url", v.URL}, {"verdict", v.Verdict},
		{"canonical", v.Canonical}, {"key", v.Key}, {"queue", v.Queue}, {"first", v.First}} {
		for i := range len(f.text) {
			if c := f.text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
				return false
			}
		}
		if f.text != "" || f.name == "url" {
			b = append(append(append(b, '"'), f.name...), `":"`...)
			b = append(append(b, f.text...), `",`...)
		}
	}
	b[len(b)-1] = '}'
	out.Write(append(b, '\n'))
	return true
}

// commitLines offers URLs and fills in their verdicts.
func (s *httpAPI) commitLines(ctx context.Context, adds *addList, verdicts []wire.VerdictLine, offer offering, brief bool) error {
	if len(adds.urls) == 0 {
		return nil
	}
	results, err := offer(ctx, adds.urls)
	for i, place := range adds.places {
		if err != nil {
			verdicts[place].Verdict = "failed"
			verdicts[place].Error = &wire.Fault{Code: "unavailable", Message: "not stored; send it again"}
			continue
		}
		fillVerdict(&verdicts[place], &results[i])
		if brief {
			verdicts[place].Canonical, verdicts[place].Queue = "", ""
		} else if results[i].Status == frontier.StatusDuplicate {
			s.tellFirst(&verdicts[place], results[i].First, &adds.urls[i])
		}
	}
	return err
}

// parseLine reads a line into l, which has the defaults, and what the verdict repeats of it. record is whether to record its URL.
func (s *httpAPI) parseLine(line *bodyLine, l *wire.URLLine, v *wire.VerdictLine) (u frontier.Link, record bool, fault *wire.Fault) {
	crawl := l.Crawl
	var err error
	if line.plain {
		l.URL = strings.TrimSpace(strings.TrimPrefix(string(line.text), "\ufeff"))
		if l.URLBytes = wire.BytesOf(l.URL); l.URLBytes != nil {
			l.URL = ""
		}
	} else if fault := line.fault(s.maxLine(), "; send a URL that is not UTF-8 as url_bytes, in base64"); fault != nil {
		return u, true, fault
	} else {
		was := *l
		if err = decode(s.shapeOf(reflect.TypeFor[wire.URLLine]()), line.text, l); err != nil {
			*l = was
			_ = json.Unmarshal(line.text, l) // the answer has the ID and the URL, if they can be read
		}
		l.Crawl = cmp.Or(l.Crawl, crawl) // "" names none
	}
	v.ID, v.URL, v.URLBytes = l.ID, l.URL, l.URLBytes
	if err != nil {
		return u, true, shapeFault(err)
	}
	l.URL = wire.TextOr(l.URL, l.URLBytes)
	if l.URL == "" {
		return u, true, &wire.Fault{Code: string(frontier.ReasonURL), Message: `the field "url" is missing`}
	}
	u = frontier.Link{URL: l.URL, Queue: l.Queue, Crawl: crawlName(l.Crawl), Meta: AppendMetadata(nil, l.Metadata)}
	if u.Crawl == frontier.OwnCrawl {
		return u, true, &wire.Fault{Code: string(frontier.ReasonCrawl), Message: fmt.Sprintf("the crawl %q is the server's own", frontier.OwnCrawl)}
	}
	if len(l.Meta) > 0 && u.Meta != nil {
		return u, true, &wire.Fault{Code: "json", Message: "got the fields metadata and meta; want one of them"}
	}
	if len(l.Meta) > 0 {
		u.Meta = l.Meta
	}
	if len(u.Meta) > s.cfg.MaxMetadata {
		return u, true, &wire.Fault{Code: "too-long", Message: fmt.Sprintf("got %d bytes of metadata; want at most %d", len(u.Meta), s.cfg.MaxMetadata)}
	}
	if !s.takes(&u) {
		return u, true, &wire.Fault{Code: "too-long", Message: fmt.Sprintf("got a URL of %d bytes; want at most %d", len(u.URL), s.cfg.MaxURL)}
	}
	u.Due, u.Priority, u.Depth, u.Force, u.Raise, u.Discriminator = l.Due, l.Priority, l.Depth, l.Force, l.Raise, l.Discriminator
	u.SkipTraps, u.Group = l.SkipTraps, l.Group
	if l.UnlessFetchedAfter == "" { // and no look at the clock
		return u, l.Record == nil || *l.Record, nil
	}
	if u.UnlessFetchedAfter, err = l.UnlessFetchedAfter.At(time.Now()); err != nil {
		return u, true, &wire.Fault{Code: "invalid", Message: "unless_fetched_after: " + err.Error()}
	}
	return u, l.Record == nil || *l.Record, nil
}

// fillVerdict puts a result into a line, without the first-seen URL of a duplicate.
func fillVerdict(v *wire.VerdictLine, r *frontier.Result) {
	v.Verdict, v.Canonical, v.Queue, v.Requeued, v.Raised, v.SeenIn = r.Status.String(), r.Canonical, r.Queue, r.Requeued, r.Raised, r.SeenIn
	if r.Status == frontier.StatusRefused {
		v.Error = &wire.Fault{Code: string(r.Reason), Message: reasonText(r.Reason)}
		if r.Err != nil {
			v.Error.Message = r.Err.Error()
		}
		return
	}
	v.Key = hex.EncodeToString(r.Key[:])
}

// refusals are the reasons of refusals that come without an error, in words.
var refusals = map[frontier.Reason]string{
	frontier.ReasonTooLong:   "the URL is longer than --traps allow; skip_traps accepts it",
	frontier.ReasonCrawl:     "no crawl can have this name",
	frontier.ReasonQueue:     "the URL has no host and no queue was given, or the queue is too long",
	frontier.ReasonExcluded:  `the URL is excluded, by a rule ("firstseen exclude" lists them) or by the list of serve --exclude-hashed`,
	frontier.ReasonDepth:     "the URL is more links away from a seed than --max-depth",
	frontier.ReasonPathDepth: "the path has more segments than --traps allow; skip_traps accepts it",
	frontier.ReasonRepeats:   "a segment of the path, or a parameter with its value, occurs more often than --traps allow; skip_traps accepts it",
	frontier.ReasonQueries:   "too many different queries of this path are queued already (--traps); skip_traps accepts it",
	frontier.ReasonFull:      "the queue or the crawl is full (--max-per-queue, --max-held)",
	frontier.ReasonDamaged:   "the disk damaged what says whether the URL was seen: restore a backup",
	frontier.ReasonRedirects: "the URL was redirected too many times in a row",
}

// reasonText describes a refusal that came without an error.
func reasonText(r frontier.Reason) string {
	if text, ok := refusals[r]; ok {
		return text
	}
	return "refused: " + string(r)
}

// tellFirst adds the first-seen URL of a duplicate, if it is kept, and the rules that made
// the two equal.
func (s *httpAPI) tellFirst(v *wire.VerdictLine, first string, u *frontier.Link) {
	v.FirstBytes = wire.BytesOf(first)
	if v.First = first; first != "" && first != u.URL {
		v.Rules = rulesBetween(s.profileOf(u.Crawl), u.URL, first)
	}
}

// postImport puts items in the JSON form of Protocol Buffers, one a line: what
// URLFrontier's DumpURLs writes.
func (s *httpAPI) postImport(w http.ResponseWriter, r *http.Request) {
	s.streamLines(w, r, s.importLines)
}

func (s *httpAPI) importLines(ctx context.Context, lines []bodyLine, out *bytes.Buffer) {
	items := make([]*putItem, len(lines))
	reader := &messageReader{s: s.service}
	answers := make([]wire.ImportLine, len(lines))
	have, err := s.f.grant(ctx)
	for i := range lines {
		items[i] = &putItem{}
		reader.raw, answers[i].Error = s.parseItem(&lines[i])
		if err := reader.openItem(items[i]); err != nil { // not of what parseItem returns
			items[i] = &putItem{}
		}
		if answers[i].Error == nil && err == nil && !have.touches(items[i].url.Crawl) {
			items[i], answers[i].Error = &putItem{id: items[i].id}, &wire.Fault{Code: string(reasonForbidden), Message: errOtherCrawl.Error()}
		}
		items[i].imported = true
	}
	for i, st := range s.putItems(ctx, items) {
		answers[i].ID, answers[i].Status = items[i].id, st.String()
		b, err := json.Marshal(answers[i])
		if err != nil { // no value of this type fails
			continue
		}
		out.Write(append(b, '\n'))
	}
}

// protoError returns the error of a line, with an example of a URLItem. protojson writes "proto:"
// before its errors, with a blank that differs from build to build.
func protoError(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:")) +
		`; want a URLItem such as {"discovered":{"info":{"url":"http://example.org/","key":"example.org"}}}`
}

// parseItem returns the item of a line as a message; of one that can't be read an empty one, which is SKIPPED.
func (s *httpAPI) parseItem(line *bodyLine) ([]byte, *wire.Fault) {
	if fault := line.fault(s.maxLine(), "; a URLItem cannot have it: offer it to /v1/urls, as url_bytes in base64"); fault != nil {
		return nil, fault
	}
	var m frontierpb.URLItem
	if err := protojson.Unmarshal(line.text, &m); err != nil {
		return nil, &wire.Fault{Code: "json", Message: protoError(err)}
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	if err != nil {
		return nil, &wire.Fault{Code: "json", Message: protoError(err)}
	}
	return raw, nil
}

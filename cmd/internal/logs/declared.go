package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httputil"
	"strings"

	"github.com/firstseen/firstseen/frontier/declared"
)

// maxEntity is how many bytes of the body of a message are read for its declarations. A page is
// searched up to declared.MaxHTML.
const maxEntity = 512 << 10

// readDeclared reads what a successful response declares. Archives keep bodies as they
// came, or without chunks or compression, whatever the header says.
func readDeclared(r *Record, header map[string][]string, body *bufio.Reader) {
	isPage := strings.Contains(strings.ToLower(r.MIME), "html")
	limit := int64(declared.MaxHTML)
	switch {
	case r.Status != 200:
		return
	case declared.IsRobots(r.URL):
		limit = maxEntity
	case !isPage && header["Link"] == nil && header["No-Vary-Search"] == nil:
		return
	case !isPage:
		limit = 0
	}
	page := declared.Of(r.URL, header, decodeBody(header, body, limit))
	r.Canonical, r.NoVarySearch, r.CleanParam = page.Canonical, page.NoVarySearch, page.CleanParam
}

// decodeBody returns the beginning of a body.
func decodeBody(header map[string][]string, body *bufio.Reader, limit int64) []byte {
	if limit == 0 {
		return nil
	}
	var in io.Reader = body
	if strings.EqualFold(strings.Join(header["Transfer-Encoding"], ","), "chunked") && isChunk(body) {
		in = httputil.NewChunkedReader(body)
	}
	start := bufio.NewReader(in)
	in = start
	if magic, _ := start.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(start)
		if err != nil {
			return nil
		}
		in = unpacked
	}
	text, _ := io.ReadAll(io.LimitReader(in, limit)) // what can be read of it counts
	return text
}

// isChunk reports whether a body begins with the size of a chunk.
func isChunk(body *bufio.Reader) bool {
	line, _ := body.Peek(20)
	size, _, ok := bytes.Cut(line, []byte{'\n'})
	size, _, _ = bytes.Cut(bytes.TrimSpace(size), []byte{';'})
	return ok && len(size) > 0 && len(bytes.Trim(size, "0123456789abcdefABCDEF ")) == 0
}

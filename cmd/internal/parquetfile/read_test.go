package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func parquetFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../logs/testdata/parquet/*.parquet")
	if err != nil || len(files) < 4 {
		t.Fatalf("got %v, %v; want the files of two foreign writers", files, err)
	}
	return files
}

// read reads columns of a file that is in memory, or all, and returns the texts of each row.
func read(raw []byte, columns ...string) (rows [][]string, err error) {
	r, err := NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	if columns == nil {
		columns = r.Columns()
	}
	var places []int
	for _, name := range columns {
		place, err := r.Column(name)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	err = r.Read(func(number int64, row Row) bool {
		var texts []string
		for _, place := range places {
			texts = append(texts, row.Text(place))
		}
		rows = append(rows, texts)
		return number == int64(len(rows))
	})
	return rows, err
}

// readParquetBytes reads a file that is in memory and returns how much memory that took,
// all allocations together.
func readParquetBytes(raw []byte) (allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = read(raw)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// maxParquetMemory is what a broken file of a few KiB may make the reader allocate: two
// pages, and their values twice.
const maxParquetMemory = 512 << 20

// TestBrokenParquet changes bytes of good files, thousands of times: whatever comes of it,
// the reader returns, in bounded memory.
func TestBrokenParquet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	most, failed := uint64(0), 0
	for _, file := range parquetFiles(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 1500 {
			broken := bytes.Clone(raw)
			for range 1 + random.IntN(4) {
				broken[random.IntN(len(broken))] = byte(random.Uint32())
			}
			if random.IntN(10) == 0 {
				broken = broken[:random.IntN(len(broken))]
			}
			n, err := readParquetBytes(broken)
			if most = max(most, n); err != nil {
				failed++
			}
			if n > maxParquetMemory {
				t.Errorf("%s: allocated %d bytes, %v; want at most %d", file, n, err, maxParquetMemory)
			}
		}
	}
	t.Logf("%d files could not be read; at most %d KiB were allocated", failed, most>>10)
	if failed == 0 {
		t.Error("every broken file could be read; want errors")
	}
}

// FuzzParquet does the same with what the fuzzer finds.
func FuzzParquet(f *testing.F) {
	for _, file := range parquetFiles(f) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if n, err := readParquetBytes(raw); len(raw) < 1<<16 && n > maxParquetMemory {
			t.Errorf("allocated %d bytes of %d, %v", n, len(raw), err)
		}
	})
}

// TestNested reads a column within a structure that is always there, by its path.
func TestNested(t *testing.T) {
	type row struct {
		Request struct {
			URL string `parquet:"url"`
		} `parquet:"request"`
	}
	rows := make([]row, 2)
	rows[0].Request.URL, rows[1].Request.URL = "http://a.example/", "http://b.example/"
	var file bytes.Buffer
	if err := parquet.Write(&file, rows); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"request.url": "[[http://a.example/] [http://b.example/]]", "": "[[] []]", "request": "[[] []]"} {
		if got, err := read(file.Bytes(), field); fmt.Sprint(got) != want || err != nil {
			t.Errorf("column %q: got %q, %v; want %q", field, got, err, want)
		}
	}
}

// TestOptionalGroups reads a column in groups that can be missing, as polars and pyarrow write every structure, from both versions of pages.
func TestOptionalGroups(t *testing.T) {
	type page struct {
		URL *string `parquet:"url,optional"`
	}
	type request struct {
		Page *page `parquet:"page,optional"`
	}
	type row struct {
		Request *request `parquet:"request,optional"`
		Tags    []string `parquet:"tags"`
	}
	url := func(s string) *row { return &row{Request: &request{&page{&s}}} }
	var rows []row
	var want [][]string
	for i := range 3000 {
		text := ""
		switch i % 7 {
		case 1:
			rows = append(rows, row{})
		case 2:
			rows = append(rows, row{Request: &request{}})
		case 4:
			rows = append(rows, row{Request: &request{&page{}}})
		default:
			text = fmt.Sprintf("http://a.example/%d", i/2)
			rows = append(rows, *url(text))
		}
		want = append(want, []string{text})
	}
	for _, version := range []int{1, 2} {
		var file bytes.Buffer
		w := parquet.NewGenericWriter[row](&file, parquet.DataPageVersion(version), parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(1100))
		if _, err := w.Write(rows); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		got, err := read(file.Bytes(), "request.page.url")
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("version %d: got %d rows, %v; want %d, those that have a URL with it", version, len(got), err, len(want))
		}
		if _, err = read(file.Bytes(), "tags"); err == nil || !strings.Contains(err.Error(), "lists") {
			t.Errorf("version %d: a column of lists: got %v; want it refused", version, err)
		}
	}
	raw, err := os.ReadFile("testdata/polars-struct.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(raw, "request.url"); err != nil || fmt.Sprint(got) != "[[http://a.example/] [] [] [http://b.example/]]" {
		t.Errorf("polars: got %q, %v; want two URLs, and two rows without one", got, err)
	}
}

// TestTimeFields writes times and dates as RFC 3339 has them.
func TestTimeFields(t *testing.T) {
	type row struct {
		URL   string `parquet:"url"`
		Day   int32  `parquet:"day,date"`
		Milli int64  `parquet:"milli,timestamp(millisecond)"`
		Nano  int64  `parquet:"nano,timestamp(nanosecond)"`
		Plain int32  `parquet:"plain"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{"http://a.example/", -1, 1772323200123, 1772323200000000001, 20513}}); err != nil {
		t.Fatal(err)
	}
	got, err := read(file.Bytes(), "day", "milli", "nano", "plain")
	if want := "[[1969-12-31T00:00:00Z 2026-03-01T00:00:00.123Z 2026-03-01T00:00:00.000000001Z 20513]]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %q, %v; want %s", got, err, want)
	}
}

// TestParquetBombs: what asks for more than there is is refused before the library sees it.
func TestParquetBombs(t *testing.T) {
	footer := []byte{0x15, 2, 0x19, 0xfc} // version 1; a list of structs, of
	footer = binary.AppendUvarint(footer, 1<<30)
	file := append([]byte("PAR1"), footer...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
	if err := checkFooter(bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), "elements") {
		t.Errorf("a list of 2^30 elements: got %v; want it refused", err)
	}
	deep := append(bytes.Repeat([]byte{0x1c}, 1000), make([]byte, 1001)...)
	if err := checkThrift(deep); err == nil {
		t.Error("structs 1,000 deep: got no error")
	}
	runs := binary.AppendUvarint(nil, 1<<31)
	if err := checkRuns(append(runs, 1), 1, 100); err == nil {
		t.Error("a run of 2^30 values in a page of 100: got no error")
	}
	if err := checkDelta([]byte{0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 7, 0}, 100); err == nil {
		t.Error("2^31 differences in a page of 100: got no error")
	}
	zeros := make([]byte, 1<<20)
	c := column{codec: format.Snappy}
	if _, err := c.unpack(snappy.Encode(nil, zeros), 100); err == nil {
		t.Error("a page of 1 MiB whose header says 100 bytes: got no error")
	}
	c.codec = format.Lz4Raw
	if _, err := c.unpack(zeros, 100); err == nil || !strings.Contains(err.Error(), "LZ4_RAW") {
		t.Errorf("LZ4: got %v; want it refused by name", err)
	}
}

// TestLyingParquet: a text that claims to be longer than its page, and a row group that claims to have fewer rows than its pages, are no
// rows with exit 0: the one would take bytes of the page before, the other lose rows.
func TestLyingParquet(t *testing.T) {
	type row struct {
		URL string `parquet:"url,plain"`
	}
	var whole bytes.Buffer
	w := parquet.NewGenericWriter[row](&whole, parquet.Compression(&parquet.Uncompressed), parquet.MaxRowsPerRowGroup(100))
	for i := range 200 {
		if _, err := w.Write([]row{{fmt.Sprintf("https://site-%d.example/%s", i, strings.Repeat("x", i%90+max(0, 100-i)))}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	count := func(raw []byte) (int, error) {
		rows, err := read(raw, "url")
		for _, row := range rows {
			if rest, ok := strings.CutPrefix(row[0], "https://site-"); !ok || strings.Trim(rest[strings.IndexByte(rest, '/')+1:], "x") != "" {
				t.Errorf("got row %q", row)
			}
		}
		return len(rows), err
	}
	if rows, err := count(whole.Bytes()); rows != 200 || err != nil {
		t.Fatalf("got %d rows, %v; want all", rows, err)
	}
	last := fmt.Sprintf("https://site-199.example/%s", strings.Repeat("x", 199%90))
	for _, by := range []byte{1, 2, 60} {
		raw := bytes.Clone(whole.Bytes())
		raw[bytes.LastIndex(raw, append([]byte{byte(len(last)), 0, 0, 0}, last...))] += by
		if rows, err := count(raw); err == nil || rows > 100 {
			t.Errorf("a text that is %d longer: got %d rows, %v; want those of the page before, and an error", by, rows, err)
		}
	}
	file, err := parquet.OpenFile(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	if err != nil {
		t.Fatal(err)
	}
	meta := *file.Metadata()
	meta.RowGroups[0].NumRows--
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		t.Fatal(err)
	}
	raw := whole.Bytes()
	raw = raw[:len(raw)-8-int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))]
	raw = binary.LittleEndian.AppendUint32(append(slices.Clone(raw), footer...), uint32(len(footer)))
	if rows, err := count(append(raw, "PAR1"...)); err == nil {
		t.Errorf("a row group that claims fewer rows: got %d rows and no error", rows)
	}
}

// TestTextsBeyondTheirPage: the library compares a length with the memory that it is given, which may have a longer page from before.
func TestTextsBeyondTheirPage(t *testing.T) {
	page := func(texts ...string) (b []byte) {
		for _, text := range texts {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
		}
		return b
	}
	room := bytes.Repeat([]byte("before"), 100)
	for _, c := range []struct {
		at, by int
		n      int64
		ok     bool
	}{{0, 0, 3, true}, {0, 0, 2, false}, {0, 0, 4, false}, {14, 1, 3, false}, {14, 60, 3, false}, {0, 1, 3, false}, {7, 250, 3, false}} {
		p := append(room[:0], page("one", "two", "three")...)
		if p[c.at] += byte(c.by); (checkTexts(p, c.n) == nil) != c.ok {
			t.Errorf("%+v: got %v", c, checkTexts(p, c.n))
		}
		text := parquet.ByteArrayType
		if _, err := (&column{kind: text}).decode(text.NewValues(nil, nil), p, c.n, format.Plain); (err == nil) != c.ok {
			t.Errorf("%+v: decoded with %v", c, err)
		}
	}
}

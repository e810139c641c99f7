package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestEdges plays the transcripts in testdata against a fresh server each: the
// profile is the last part of the file's name. They hold the behaviour that was
// observed of URLFrontier 2.6, except where a comment says otherwise.
func TestEdges(t *testing.T) {
	datadriven.Walk(t, "testdata/edges", func(t *testing.T, file string) {
		name := strings.TrimSuffix(file[strings.LastIndexByte(file, '.')+1:], "/")
		profile, err := canon.ParseProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, profile, Config{})
		p := &player{t: t, r: r, c: r.client(t)}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return p.play(d) })
	})
}

// player carries out the commands of a transcript.
type player struct {
	t *testing.T
	r *running
	c pb.URLFrontierClient
}

func (p *player) play(d *datadriven.TestData) string {
	ctx := hang.Context(p.t)
	a := args{d}
	commands := map[string]func(context.Context, args, string) (string, error){
		"put": p.put, "batch": p.batch, "get": p.get, "stats": p.stats, "step": p.step, "queues": p.queues, "crawls": p.crawls,
		"urls": p.urls, "count": p.countURLs, "status": p.status, "purge": p.purge, "delete-queue": p.deleteQueue,
		"delete-crawl": p.deleteCrawl, "block": p.block, "delay": p.delay, "limit": p.limit, "active": p.active,
	}
	command, ok := commands[d.Cmd]
	if !ok {
		p.t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	out, err := command(ctx, a, d.Input)
	if err != nil {
		return out + "error: " + status.Code(err).String() + "\n"
	}
	return out
}

// args reads the arguments of a command.
type args struct{ d *datadriven.TestData }

func (a args) has(name string) bool { return a.d.HasArg(name) }

func (a args) text(name string) string {
	for _, arg := range a.d.CmdArgs {
		if arg.Key == name && len(arg.Vals) > 0 {
			return strings.Trim(arg.Vals[0], `"`)
		}
	}
	return ""
}

func (a args) num(name string) uint64 {
	n, err := strconv.ParseUint(cmp.Or(a.text(name), "0"), 10, 64)
	if err != nil {
		a.d.Fatalf(nil, "%s: %v", name, err)
	}
	return n
}

// info reads "url key=K crawl=C m.name=value", where "" is an empty text.
func info(fields []string) (u *pb.URLInfo, rest map[string]string) {
	u, rest = &pb.URLInfo{Url: strings.Trim(fields[0], `"`)}, map[string]string{}
	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		value = expand(strings.Trim(value, `"`))
		switch {
		case name == "key":
			u.Key = value
		case name == "crawl":
			u.CrawlID = value
		case strings.HasPrefix(name, "m."):
			if u.Metadata == nil {
				u.Metadata = map[string]*pb.StringList{}
			}
			u.Metadata[name[2:]] = &pb.StringList{Values: strings.Split(value, ",")}
		default:
			rest[name] = value
		}
	}
	u.Url = expand(u.Url)
	return u, rest
}

// expand writes a*3 out as aaa.
func expand(s string) string {
	before, n, ok := strings.Cut(s, "*")
	if count, err := strconv.Atoi(n); ok && err == nil && before != "" {
		return before[:len(before)-1] + strings.Repeat(before[len(before)-1:], count)
	}
	return s
}

// short keeps long texts out of transcripts.
func short(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%.20s…(%d bytes)", s, len(s))
	}
	return cmp.Or(s, `""`)
}

// date reads seconds relative to the test's clock ("now+10", "now-10") or as
// they are.
func (p *player) date(text string) uint64 {
	if offset, ok := strings.CutPrefix(text, "now"); ok {
		n, _ := strconv.ParseInt(cmp.Or(offset, "0"), 10, 64)
		return uint64(p.r.clock.Now().Unix() + n)
	}
	if offset, ok := strings.CutPrefix(text, "ms-now"); ok {
		n, _ := strconv.ParseInt(cmp.Or(offset, "0"), 10, 64)
		return uint64(p.r.clock.Now().UnixMilli() + n*1000)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// item reads a line of put: an info, with id=, and known=DATE for a known URL;
// the word none alone is an empty item.
func (p *player) item(line string) *pb.URLItem {
	if line == "none" {
		return &pb.URLItem{}
	}
	u, rest := info(strings.Fields(line))
	it := &pb.URLItem{ID: rest["id"], Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: u}}}
	if date, ok := rest["known"]; ok {
		it.Item = &pb.URLItem_Known{Known: &pb.KnownURLItem{Info: u, RefetchableFromDate: p.date(date)}}
	}
	return it
}

// put sends items in order, each after the ack of the one before.
func (p *player) put(ctx context.Context, _ args, input string) (string, error) {
	stream, err := p.c.PutURLs(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for line := range strings.Lines(input) {
		if err := stream.Send(p.item(strings.TrimSpace(line))); err != nil {
			return out.String(), err
		}
		ack, err := stream.Recv()
		if err != nil {
			return out.String(), err
		}
		fmt.Fprintf(&out, "%s %s\n", short(ack.ID), ack.Status)
	}
	if err := stream.CloseSend(); err != nil {
		return out.String(), err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return out.String() + "the server did not end the stream\n", err
	}
	return out.String(), nil
}

// batch sends its lines as one batch.
func (p *player) batch(ctx context.Context, a args, input string) (string, error) {
	stream, err := p.c.PutDiscovered(ctx)
	if err != nil {
		return "", err
	}
	b := &pb.DiscoveredBatch{ID: a.text("id")}
	for line := range strings.Lines(input) {
		u, _ := info(strings.Fields(line))
		b.Items = append(b.Items, u)
	}
	if err := errors.Join(stream.Send(b), stream.CloseSend()); err != nil {
		return "", err
	}
	ack, err := stream.Recv()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %v\n", ack.ID, ack.Statuses), nil
}

func (p *player) get(ctx context.Context, a args, _ string) (string, error) {
	req := &pb.GetParams{MaxUrlsPerQueue: uint32(a.num("urls")), MaxQueues: uint32(a.num("queues")), Key: a.text("key"), DelayRequestable: uint32(a.num("lease"))}
	if a.has("crawl") {
		req.Item = &pb.GetParams_CrawlID{CrawlID: a.text("crawl")}
	}
	if a.has("any") {
		req.Item = &pb.GetParams_AnyCrawlID{AnyCrawlID: &pb.AnyCrawlID{}}
	}
	stream, err := p.c.GetURLs(ctx, req)
	if err != nil {
		return "", err
	}
	lines, err := gather(stream.Recv, func(u *pb.URLInfo) string {
		return strings.TrimSpace(fmt.Sprintf("%s key=%s crawl=%s %s", short(u.Url), short(u.Key), u.CrawlID, metaText(u.Metadata)))
	})
	if a.has("sorted") {
		slices.Sort(lines)
	}
	if a.has("count") {
		return fmt.Sprintln(len(lines)), err
	}
	return text(lines), err
}

func gather[T any](recv func() (T, error), show func(T) string) (lines []string, err error) {
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, show(m))
	}
}

func text(lines []string) string {
	if len(lines) == 0 {
		return "none\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

func metaText(m map[string]*pb.StringList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, "m."+name+"="+strings.Join(m[name].Values, ","))
	}
	return strings.Join(parts, " ")
}

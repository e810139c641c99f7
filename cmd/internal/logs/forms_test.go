package logs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/foreignforms"
)

// TestForeignForms reads tables and access logs in forms of many programs. Half of them are made by a package whose author did not know
// this reader. None may be misread: URLs that are not in the file must not be printed without an error. And what a header or a column
// of URLs tells must be read.
func TestForeignForms(t *testing.T) {
	n := 2400
	if testing.Short() {
		n = 800
	}
	for name, files := range map[string][]foreignforms.File{"ours": ourForms(1, n/2), "foreign": foreignforms.Files(1, n/2)} {
		t.Run(name, func(t *testing.T) {
			telling, right, misread := 0, 0, 0
			failures := map[string]int{}
			for _, f := range files {
				got, outcome := readForm(t, f)
				if f.Telling {
					telling++
				}
				switch {
				case outcome == "right" && f.Telling:
					right++
				case outcome == "misread":
					if misread++; misread <= 10 {
						t.Errorf("%s (%s, %q) misread: got %.300q; want %.300q; of\n%.600s", f.Name, f.Why, f.Flags, got, f.Want, f.Data)
					}
				case outcome != "right" && f.Telling:
					failures[f.Why+": "+outcome]++
				}
			}
			t.Logf("%d files, %d misread, %d of %d telling ones right", len(files), misread, right, telling)
			for why, n := range failures {
				t.Logf("%4d refused: %s", n, why)
			}
			if telling == 0 || 10*right < 9*telling {
				t.Errorf("got %d of %d telling files right; want 90 %%", right, telling)
			}
		})
	}
}

// readForm reads a file with the flags of the command, and says what became of it.
func readForm(t *testing.T, f foreignforms.File) (got []string, outcome string) {
	opt := Options{Events: Auto}
	for i := 0; i < len(f.Flags); i++ {
		name, value, ok := strings.Cut(f.Flags[i], "=")
		if !ok {
			i++
			value = f.Flags[i]
		}
		switch name {
		case "--base":
			opt.Base = value
		case "--scheme":
			opt.Scheme = value
		case "--url-field":
			opt.URLField = value
		case "--input-format", "--format":
			opt.Format = Format(value)
		default:
			t.Fatalf("%s: got flag %s", f.Name, name)
		}
	}
	in, err := Open(t.Context(), "-", strings.NewReader(string(f.Data)))
	if err != nil {
		return nil, "refused: " + err.Error()
	}
	defer in.Close()
	var want []string
	for _, s := range f.Want {
		want = append(want, canonical(s))
	}
	var counts Counts
	var failure error
	for r, err := range records(in, opt, &counts) {
		if _, ok := err.(Refusal); err != nil && !ok {
			failure = err
		} else if err == nil {
			got = append(got, canonical(r.URL))
		}
	}
	if counts.Units != counts.sum() {
		t.Errorf("%s: got %+v; want a sum", f.Name, counts)
	}
	foreignURL := slices.ContainsFunc(got, func(s string) bool {
		return !slices.Contains(want, s) && (want != nil || !strings.HasPrefix(s, DefaultBase)) // which stands for a host that is not known
	})
	switch {
	case failure != nil && len(got) == 0:
		return got, "refused: " + details.ReplaceAllString(failure.Error(), "N")
	case slices.Equal(got, want):
		return got, "right"
	case want == nil && !foreignURL && len(got) > 0:
		return got, "without a host"
	case foreignURL || len(got) > len(f.Want), counts.Refused == 0 && failure == nil:
		return got, "misread"
	}
	return got, fmt.Sprintf("%d of %d, the others refused: %v", len(got), len(f.Want), counts.RefusedFor)
}

func canonical(url string) string {
	form, err := canon.Qiita().Canonicalize(url)
	if err != nil {
		return url
	}
	return form
}

// ourForms makes tables: separators, quoting, header, place of the URL, decoration, encoding; and access logs.
func ourForms(seed int64, n int) (files []foreignforms.File) {
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	url := func(i int) string {
		return pick("https", "http") + "://" + pick("www.example.com", "shop.example", "example.org:8080", "bücher.example") +
			pick("/", "/a/b.html", "/p", "/docs/", "/Salaries/x-KO0,26.htm", "/s?q=1&u=2", "/s?ids=1,2", "/x;jsessionid=9", "/a%20b", "/caf%C3%A9#top") + pick("", "", fmt.Sprint("?n=", i))
	}
	for i := range n {
		rows := 3 + rng.IntN(30)
		f := foreignforms.File{Name: fmt.Sprint("ours-", i)}
		var b strings.Builder
		if rng.IntN(3) == 0 {
			accessForm(rng, &f, &b, rows)
		} else {
			tableForm(rng, &f, &b, rows, url)
		}
		f.Data = []byte(b.String())
		switch text := f.Data; rng.IntN(8) {
		case 0:
			f.Data = append([]byte(byteOrderMark), text...)
		case 1:
			f.Data = []byte(strings.ReplaceAll(string(text), "\n", "\r\n"))
		case 2:
			f.Data = []byte{0xff, 0xfe}
			for _, r := range string(text) {
				f.Data = append(f.Data, byte(r), byte(r>>8))
			}
		}
		files = append(files, f)
	}
	return files
}

// column makes the cells of a column beside the URL.
func column(rng *rand.Rand) (name string, cell func() string) {
	text := func(words ...string) func() string { return func() string { return words[rng.IntN(len(words))] } }
	switch rng.IntN(9) {
	case 0:
		return "Clicks", func() string { return fmt.Sprint(rng.IntN(100_000)) }
	case 1:
		return "CTR", func() string { return fmt.Sprintf("%.2f%%", rng.Float64()*100) }
	case 2:
		return "Title", text("Home", "Say \"hello\", twice", "A, B; C", "Two\nlines", "", "Preis | Größe")
	case 3:
		return "Status Code", text("200", "301", "404", "0")
	case 4:
		return "Content Type", text("text/html", "application/pdf")
	case 5:
		return "Last seen", func() string { return fmt.Sprintf("2026-01-%02dT10:00:00Z", 1+rng.IntN(28)) }
	case 6:
		return "Referrer", text("https://ref.example/", "https://ref.example/a,b", "")
	case 7:
		return "IP", text("192.0.2.1", "2001:db8::1")
	}
	return "Indexable", text("yes", "no")
}

func tableForm(rng *rand.Rand, f *foreignforms.File, b *strings.Builder, rows int, url func(int) string) {
	sep := []string{",", ";", "\t", "|"}[rng.IntN(4)]
	quoting, header := rng.IntN(3), rng.IntN(3) > 0
	cell := func(s string) string {
		need := strings.ContainsAny(s, "\"\n"+sep)
		if quoting == 0 || need {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return s
	}
	place, width := rng.IntN(3), 2+rng.IntN(4)
	place = min(place, width-1)
	names, cells := make([]string, width), make([]func() string, width)
	referrer := false
	for c := range width {
		names[c], cells[c] = column(rng)
		referrer = referrer || names[c] == "Referrer"
	}
	names[place] = []string{"url", "URL", "Address", "loc", "Page", "Top pages", "Landing page"}[rng.IntN(7)]
	f.Telling = header || !referrer && (quoting == 0 || sep == "\t")
	f.Why = fmt.Sprintf("table %q, quoting %d, header %v", sep, quoting, header)
	line := func(value func(c int) string) {
		for c := range width {
			if c > 0 {
				b.WriteString(sep)
			}
			b.WriteString(cell(value(c)))
		}
		b.WriteString("\n")
	}
	if header {
		line(func(c int) string { return names[c] })
	}
	for i := range rows {
		u := url(i)
		f.Want = append(f.Want, u)
		line(func(c int) string {
			if c == place {
				return u
			}
			return cells[c]()
		})
	}
}

func accessForm(rng *rand.Rand, f *foreignforms.File, b *strings.Builder, rows int) {
	form := rng.IntN(8)
	f.Telling, f.Flags, f.Why = true, []string{"--base", "http://base.example"}, fmt.Sprintf("access log, form %d", form)
	for i := range rows {
		client, proxy := fmt.Sprintf("192.0.2.%d", rng.IntN(200)), fmt.Sprintf("198.51.100.%d", rng.IntN(9))
		if rng.IntN(4) == 0 {
			client = fmt.Sprintf("2001:db8::%d", rng.IntN(99))
		}
		host := []string{"www.example.com", "example.org", "shop.example"}[rng.IntN(3)]
		base := "http://" + host
		head := ""
		switch form {
		case 0:
			head, base = client+" - -", "http://base.example"
		case 1:
			head, base = host+":443 "+client+" - -", "https://"+host
		case 2:
			head = client + " " + host + " - frank"
		case 3:
			head, base = client+", "+proxy+" - -", "http://base.example"
		case 4:
			head, base = client+" "+proxy+" - -", "http://base.example"
		case 5:
			head = `"` + client + ", " + proxy + `" ` + host + " - -"
		case 6: // names of clients are looked up, of some in vain
			if rng.IntN(2) == 0 {
				client = fmt.Sprintf("dsl-%d.isp.example", i)
			}
			head = host + " " + client + " - -"
		case 7:
			head, base = fmt.Sprintf("dsl-%d.isp.example - -", i), "http://base.example"
		}
		path := fmt.Sprintf("/p/%d?x=%d", rng.IntN(50), i)
		f.Want = append(f.Want, base+path)
		fmt.Fprintf(b, "%s [13/Sep/2016:22:17:50 +0200] \"GET %s HTTP/1.1\" 200 1586 \"http://ref.example/\" \"M\"\n", head, path)
	}
}

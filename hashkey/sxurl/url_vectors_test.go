package sxurl

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/hashkey/internal/vectors"
)

// text is a string, null or an error in the vectors.
type text struct {
	Text  string
	OK    bool
	Error string
}

func (x *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{':
		var e struct{ Error string }
		err := json.Unmarshal(b, &e)
		x.Error = e.Error
		return err
	case 'n':
		return nil
	}
	x.OK = true
	if b[0] != '"' {
		x.Text = string(b) // a number
		return nil
	}
	return json.Unmarshal(b, &x.Text)
}

type utilsRow struct {
	ID, Input   string
	Anchor      text
	Filename    text
	Get         map[Component]text `json:"get_url_component"`
	HasAnchor   bool               `json:"has_anchor"`
	HasQuery    bool               `json:"has_query"`
	IsHTTPS     bool               `json:"is_https"`
	Join        map[string]text    `json:"join_url_path"`
	Query       json.RawMessage    `json:"parse_query"`
	Segments    json.RawMessage    `json:"path_segments"`
	SplitDomain json.RawMessage    `json:"split_domain"`
	SplitURL    map[string]text    `json:"split_url"`
	StripAnchor text               `json:"strip_anchor"`
	Strip       map[Component]text `json:"strip_url_component"`
}

// exception says why a row is not judged: the crate's parser departs from the URL Standard
// as it is now, so there is no one canonical form to start from. "" means it is judged.
func exception(u *URL, err error, r utilsRow) string {
	switch {
	case vectors.AcceptedSince(r.ID) && err == nil:
		return "a host with an xn-- label that encodes nothing, which the URL Standard takes since June 2026"
	case r.ID == "hand:466" || r.ID == "hand:467":
		return "^ in a path, which the URL Standard escapes since March 2025"
	case err == nil && u.parts.Scheme == "file" && text1(u.Without(Fragment)) != r.StripAnchor.Text:
		return "a file URL whose slashes or drive letter the crate reads otherwise than the URL Standard"
	}
	return ""
}

// corrected names the class of an answer of the crate that we correct; "" means that we must agree with it.
// TestCorrected has an example of each class, with our answer.
func corrected(u *URL, check string, r utilsRow) string {
	_, _, _, hostErr := u.SplitHost()
	var ofHost bool
	for _, c := range []Component{TLD, Domain, Subdomain} {
		ofHost = ofHost || strings.HasSuffix(check, " "+string(c))
	}
	what, name, _ := strings.Cut(check, " ")
	switch {
	case (ofHost || check == "split") && isAddress(u.parts.Host):
		return "an address has no domain; the crate splits it at its dots"
	case what == "get" && !ofHost && hostErr != nil:
		return "a URL without a domain has its other parts"
	case check == "is https" && !strings.HasPrefix(u.raw, "https://"):
		return "the scheme counts in any case"
	case check == "has query" && u.parts.Query == "" && strings.Contains(u.raw, "?"):
		return "a question mark in a fragment begins no query"
	case name == "port" && u.parts.Port == "" && u.parts.Host != "":
		return "a default port counts as written where it is, and there alone"
	case name == "port" && what == "without" && u.parts.Host == "":
		return "no port without a host"
	case (check == "file name" || name == "filename") && strings.HasSuffix(u.parts.Path, "/"):
		return "a folder is no file"
	case check == "without filename" && strings.Contains(u.parts.Path, "//"):
		return "empty segments stay"
	case u.opaque() && (what == "join" || check == "without path" || check == "without path_segments"):
		return "a path without structure gets no slash"
	}
	return ""
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

func TestUtilsVectors(t *testing.T) {
	judged, classes := 0, map[string]int{}
	vectors.Each(t, "sxurl_utils", func(t *testing.T, r utilsRow) {
		u, err := ParseURL(r.Input)
		if why := exception(u, err, r); why != "" {
			t.Logf("excepted: %s: %q: %s", r.ID, r.Input, why)
			return
		}
		judged++
		if crateName(err, "") != r.StripAnchor.Error {
			t.Errorf("%s: %q: got error %v; want %q", r.ID, r.Input, err, r.StripAnchor.Error)
			return
		}
		if err != nil {
			return
		}
		for name, c := range utilsChecks(u, r) {
			if c[0] == c[1] {
				continue
			}
			if why := corrected(u, name, r); why != "" {
				classes[why]++
			} else {
				t.Errorf("%s: %q: %s: got %s; want %s", r.ID, r.Input, name, c[0], c[1])
			}
		}
	})
	t.Logf("sxurl_utils: %d rows judged; answers that we correct: %v", judged, classes)
}

// utilsChecks are pairs of what we have and what the crate has, as texts.
func utilsChecks(u *URL, r utilsRow) map[string][2]string {
	checks := map[string][2]string{}
	add := func(name string, got, want any) {
		checks[name] = [2]string{fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)}
	}

	fragment, ok, _ := u.Get(Fragment)
	add("fragment", text{Text: fragment, OK: ok}, r.Anchor)
	add("has fragment", ok, r.HasAnchor)
	name, ok := u.Filename()
	add("file name", text{Text: name, OK: ok}, r.Filename)
	_, ok, _ = u.Get(Query)
	add("has query", ok, r.HasQuery)
	add("is https", u.parts.Scheme == "https", r.IsHTTPS)
	add("without fragment", text1(u.Without(Fragment)), r.StripAnchor.Text)
	add("params", asJSON(maps.Collect(u.Params())), string(reJSON(r.Query)))
	add("segments", asJSON(append([]string{}, u.Segments()...)), string(reJSON(r.Segments)))
	for ref, want := range r.Join {
		got, err := u.Join(ref)
		add("join "+ref, text{got, err == nil, crateName(err, "")}, want)
	}
	for c, want := range r.Strip {
		got, err := u.Without(c)
		add("without "+string(c), text{got, err == nil, crateName(err, "ParseError")}, want)
	}
	for c, want := range r.Get {
		got, ok, err := u.Get(c)
		add("get "+string(c), text{got, ok, crateName(err, "")}, want)
	}
	addSplit(add, u, r)
	return checks
}

func addSplit(add func(string, any, any), u *URL, r utilsRow) {
	tld, domain, subdomain, err := u.SplitHost()
	if err != nil {
		add("split", asJSON(map[string]string{"error": crateName(err, "")}), string(reJSON(r.SplitDomain)))
		return
	}
	var sub any = subdomain
	if subdomain == "" {
		sub = nil
	}
	add("split", asJSON([]any{sub, domain, tld}), string(reJSON(r.SplitDomain)))
	for _, name := range slices.Sorted(maps.Keys(r.SplitURL)) {
		c, err := ParseComponent(name)
		got, ok, err2 := u.Get(c)
		add("split "+name, fmt.Sprint(text{got, ok, ""}, err, err2), fmt.Sprint(r.SplitURL[name], nil, nil))
	}
}

func text1(s string, _ error) string { return s }

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// reJSON writes JSON as asJSON does.
func reJSON(b json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(b, &v)
	b, _ = json.Marshal(v)
	return b
}

package declared

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCleanParamPages holds the rules to all examples of Yandex's documentation that show pages: each robots.txt
// makes its URLs one. Source: https://yandex.com/support/webmaster/en/robot-workings/clean-param, "How to use"
// and "Additional examples".
func TestCleanParamPages(t *testing.T) {
	for _, c := range []struct {
		robots string
		urls   []string // path and query, all of one page of each path
		want   []string
	}{
		{"User-agent: Yandex\nClean-param: ref /some_dir/get_book.pl\n", []string{
			"/some_dir/get_book.pl?ref=site_1&book_id=123", "/some_dir/get_book.pl?ref=site_2&book_id=123", "/some_dir/get_book.pl?ref=site_3&book_id=123",
		}, []string{"/some_dir/get_book.pl?book_id=123"}},
		{"User-agent: Yandex\nDisallow:\nClean-param: s /forum/showthread.php\n", []string{
			"/forum/showthread.php?s=681498b9648949605&t=8243", "/forum/showthread.php?s=1e71c4427317a117a&t=8243",
		}, []string{"/forum/showthread.php?t=8243"}},
		{"User-agent: Yandex\nDisallow:\nClean-param: sid /index.php\n", []string{
			"/index.php?page=1&sid=2564126ebdec301c607e5df", "/index.php?page=1&sid=974017dcd170d6c4a5d76ae",
		}, []string{"/index.php?page=1"}},
		{"User-agent: Yandex\nDisallow:\nClean-param: s&ref /forum*/showthread.php\n", []string{
			"/forum_old/showthread.php?s=681498605&t=8243&ref=1311", "/forum_new/showthread.php?s=1e71c417a&t=8243&ref=9896",
		}, []string{"/forum_old/showthread.php?t=8243", "/forum_new/showthread.php?t=8243"}},
		{"User-agent: Yandex\nDisallow:\nClean-param: s /forum/index.php\nClean-param: s /forum/showthread.php\n", []string{
			"/forum/showthread.php?s=681498b9648949605&t=8243", "/forum/index.php?s=1e71c4427317a117a&t=8243",
		}, []string{"/forum/showthread.php?t=8243", "/forum/index.php?t=8243"}},
	} {
		rules, err := CleanParams([]byte(c.robots))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, url := range c.urls {
			path, query, _ := strings.Cut(url, "?")
			pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
				name, _, _ := strings.Cut(pair, "=")
				return slices.ContainsFunc(rules, func(r CleanParam) bool { return r.Names(name) && r.Covers(url) })
			})
			if page := path + "?" + strings.Join(pairs, "&"); !slices.Contains(got, page) {
				got = append(got, page)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got pages %q; want %q", c.robots, got, c.want)
		}
	}
}

// TestCleanParamExamples holds the rules to the examples that the same page has of the syntax, and to others
// of the same kind: a rule without a path, and the end of a path as RFC 9309 2.2.3 has it.
func TestCleanParamExamples(t *testing.T) {
	for _, c := range []struct {
		line   string
		params []string
		covers []string
		not    []string
	}{
		{"ref /some_dir/get_book.pl", []string{"ref"}, []string{"/some_dir/get_book.pl?ref=site_1&book_id=123", "/some_dir/get_book.pl"}, []string{"/some_dir/", "/Some_dir/get_book.pl"}},
		{"utm", []string{"utm"}, []string{"/", "/any?utm=1"}, nil},
		{"s /forum/showthread.php", []string{"s"}, []string{"/forum/showthread.php?s=681498b9648949605&t=8243"}, []string{"/forum_old/showthread.php"}},
		{"abc /forum/showthread.php", []string{"abc"}, []string{"/forum/showthread.php"}, []string{"/forum/index.php"}},
		{"sid&sort /forum/*.php", []string{"sid", "sort"}, []string{"/forum/index.php?sid=1", "/forum/a/b.php"}, []string{"/forum/index.html", "/index.php"}},
		{"someTrash&otherTrash", []string{"someTrash", "otherTrash"}, []string{"/x"}, nil},
		{"sid /index.php", []string{"sid"}, []string{"/index.php?page=1&sid=2564126ebdec301c607e5df"}, []string{"/"}},
		{"s&ref /forum*/showthread.php", []string{"s", "ref"}, []string{"/forum_old/showthread.php?s=681498605&t=8243&ref=1311", "/forum_new/showthread.php"}, []string{"/forum/thread.php"}},
		{"a /x$", []string{"a"}, []string{"/x"}, []string{"/x?a=1", "/xy"}},
		{"a /x*y$", []string{"a"}, []string{"/xyy", "/x?a=y"}, []string{"/xyz"}},
	} {
		rule, err := ParseCleanParam(c.line)
		if err != nil || !reflect.DeepEqual(rule.Params, c.params) || rule.String() != c.line {
			t.Errorf("%s: got %+v, %v; want parameters %v", c.line, rule, err, c.params)
		}
		for _, path := range c.covers {
			if !rule.Covers(path) {
				t.Errorf("%s does not cover %s", c.line, path)
			}
		}
		for _, path := range c.not {
			if rule.Covers(path) {
				t.Errorf("%s covers %s", c.line, path)
			}
		}
	}
	for _, bad := range []string{"", "a&&b /x", "a b c", "a x", "a=1 /x", "/x", strings.Repeat("p", 501)} {
		if rule, err := ParseCleanParam(bad); err == nil {
			t.Errorf("%q: got %+v; want an error", bad, rule)
		}
	}
}

func TestCleanParamsOfRobots(t *testing.T) {
	rules, err := CleanParams([]byte("\xef\xbb\xbfUser-agent: Yandex\r\nDisallow:\r\nCLEAN-PARAM : utm # marks\r\n\r\nUser-agent: *\nDisallow: /cgi\nClean-param: s&ref /forum*/x.php\nClean-param: a b c\n"))
	want := []CleanParam{{Params: []string{"utm"}}, {Params: []string{"s", "ref"}, Path: "/forum*/x.php"}}
	if !reflect.DeepEqual(rules, want) || err == nil || !strings.Contains(err.Error(), "a b c") {
		t.Errorf("got %+v, %v; want %+v, and an error for the line with three fields", rules, err, want)
	}
	many, err := CleanParams([]byte(strings.Repeat("Clean-param: a\n", 300)))
	if len(many) != maxCleanRules || err == nil {
		t.Errorf("got %d rules, %v; want %d and an error", len(many), err, maxCleanRules)
	}
}

func FuzzCleanParams(f *testing.F) {
	f.Add([]byte("Clean-param: s&ref /forum*/x.php$"), "/forum/x.php")
	f.Fuzz(func(t *testing.T, robots []byte, path string) {
		rules, _ := CleanParams(robots)
		for _, rule := range rules {
			rule.Covers(path)
			again, err := ParseCleanParam(rule.String())
			if err != nil || !reflect.DeepEqual(again, rule) {
				t.Errorf("%+v is written as %q, which is %+v, %v", rule, rule, again, err)
			}
		}
	})
}

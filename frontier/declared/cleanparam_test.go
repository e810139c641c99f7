package declared

import (
	"reflect"
	"strings"
	"testing"
)

// TestCleanParamExamples holds the rules to the examples of Yandex's documentation.
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

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
)

// The pages of docs/ref that this package knows the contents of; `make reference` writes them again.

func TestMetricsPageFresh(t *testing.T) {
	backups, err := durable.OpenBackups(t.TempDir(), nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, canon.Qiita(), Config{Store: fixedMetrics{}, Backups: backups})
	descs := make(chan *prometheus.Desc, 1000)
	s.registry.Describe(descs)
	close(descs)
	desc := regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: ("(?:[^"\\]|\\.)*"),.* constLabels: .*, variableLabels: \{(.*)\}\}$`)
	rows := map[string]string{}
	for d := range descs {
		m := desc.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		var help string
		if err := json.Unmarshal([]byte(m[2]), &help); err != nil {
			t.Fatal(err)
		}
		if m[1] != "" && !strings.HasPrefix(m[1], "go_") && !strings.HasPrefix(m[1], "process_") {
			rows[m[1]] = fmt.Sprintf("| `%s` | %s | %s |\n", m[1], strings.ReplaceAll(m[3], ",", ", "), help)
		}
	}
	var page bytes.Buffer
	page.WriteString(generatedMark + "# Metrics\n\nWhat `/metrics` of the daemon has beside the usual `go_…` and `process_…`. Those that begin with `frontier_` or have no prefix are URLFrontier's names, " +
		"so its dashboards work.\n\n| metric | labels | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		page.WriteString(rows[name])
	}
	holdPage(t, "METRICS.md", page.Bytes())
}

func TestAPIPageFresh(t *testing.T) {
	text, err := os.ReadFile("openapi.json") // as TestOpenAPIFresh wrote it, not as it is embedded
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Ref         string `json:"$ref"`
		Type        string
		Format      string
		Description string
		Items       *schema
		Properties  map[string]schema
		Required    []string
		Enum        []any
		AllOf       []schema
		Additional  json.RawMessage `json:"additionalProperties"`
	}
	type body struct {
		Content map[string]struct{ Schema schema }
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Summary, Description string
			Parameters           []struct {
				Name, Description string
				Required          bool
				Schema            schema
			}
			RequestBody *body
			Responses   map[string]struct {
				Description string
				body
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var kind func(s schema) string
	kind = func(s schema) string {
		switch {
		case len(s.AllOf) > 0:
			return kind(s.AllOf[0])
		case s.Ref != "":
			name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
			return "[" + name + "](#" + strings.ToLower(name) + ")"
		case s.Type == "array" && s.Items != nil:
			return "list of " + kind(*s.Items)
		case len(s.Enum) > 0:
			var values []string
			for _, v := range s.Enum {
				values = append(values, fmt.Sprintf("`%v`", v))
			}
			return strings.Join(values, ", ")
		case s.Format != "":
			return s.Type + ", " + s.Format
		}
		return s.Type
	}
	cell := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "|", `\|`)), " ") }
	kinds := func(b *body) (list string) {
		for _, name := range slices.Sorted(maps.Keys(b.Content)) {
			k := kind(b.Content[name].Schema)
			if !strings.HasPrefix(k, "[") {
				k = "`" + name + "`"
			}
			list += ", " + k
		}
		return strings.TrimPrefix(list, ", ")
	}
	var page bytes.Buffer
	page.WriteString(generatedMark + "# HTTP interface\n\nMade from [openapi.json](../../cmd/internal/server/openapi.json), which the daemon serves at `/openapi.json`. [HTTP.md](../HTTP.md) shows how to use it.\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			fmt.Fprintf(&page, "\n## %s %s\n\n%s %s\n", strings.ToUpper(method), path, cell(op.Summary), cell(op.Description))
			for _, p := range op.Parameters {
				fmt.Fprintf(&page, "\n- `?%s=`, %s: %s", p.Name, kind(p.Schema), cell(p.Description+p.Schema.Description))
			}
			if len(op.Parameters) > 0 {
				page.WriteString("\n")
			}
			if op.RequestBody != nil {
				fmt.Fprintf(&page, "\nBody: %s.\n", kinds(op.RequestBody))
			}
			for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
				if r := op.Responses[status]; status == "200" {
					fmt.Fprintf(&page, "\nAnswer: %s. %s\n", kinds(&r.body), cell(r.Description))
				}
			}
		}
	}
	page.WriteString("\n# Types\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", name, cell(s.Description))
		if len(s.Properties) == 0 {
			continue
		}
		page.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[field]
			need := ""
			if slices.Contains(s.Required, field) {
				need = ", required"
			}
			fmt.Fprintf(&page, "| `%s` | %s%s | %s |\n", field, kind(p), need, cell(p.Description))
		}
	}
	holdPage(t, "API.md", bytes.ReplaceAll(page.Bytes(), []byte(" \n"), []byte("\n")))
}

const generatedMark = "<!-- Code generated by make reference. DO NOT EDIT. -->\n"

// holdPage compares a page of docs/ref with what it should be, or writes it.
func holdPage(t *testing.T, name string, want []byte) {
	t.Helper()
	name = filepath.Join("..", "..", "..", "docs", "ref", name)
	if *generateFile {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v); run: make reference", name, err)
	}
}

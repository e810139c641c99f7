package server

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go/openapi3"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/wire"
)

// The library makes schemas of Go types and their tags. It is linked by this test alone: the daemon serves the
// file. What the library cannot know stands below: descriptions are the comments of package wire, a field is
// required unless its tag says omitempty or omitzero, and the decoder of bodies takes null for every other field.

var generateFile = flag.Bool("generate", false, "write openapi.json")

// TestOpenAPIFresh checks that openapi.json is what the routes and their types say.
func TestOpenAPIFresh(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	g := &generator{t: t, comments: commentsOf(t, "../../../internal/wire"), schemas: map[string]openapi3.SchemaOrRef{}, bodies: map[reflect.Type]bool{}}
	want := append(g.document(append(s.web.described(), s.web.healthRoutes()...)), '\n')
	if *generateFile {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(want) != string(openAPI) {
		t.Error("openapi.json is not what the routes and their types say; run: go generate ./cmd/internal/server")
	}
}

// generator makes the document.
type generator struct {
	t        *testing.T
	comments map[string]string // by "Type" and "Type.Field"
	schemas  map[string]openapi3.SchemaOrRef
	bodies   map[reflect.Type]bool // types that requests have
}

// errorTexts describe the statuses of errors that many routes have.
var errorTexts = map[int]string{
	400: "Not as described here.", 401: "No token, or an unknown one.", 403: "A token of another scope, or a request from another site.",
	408: "The body took more than a minute to arrive.", 413: "Body too large.", 429: "Too many calls in flight.",
	500: "A fault of the server; its log says which.", 503: "The store or the server is going down.", 504: "Out of time.", 507: "Disk nearly full.",
}

func (g *generator) document(routes []route) []byte {
	g.markBodies(reflect.TypeFor[wire.URLLine]())
	for _, r := range routes {
		if r.body != nil {
			g.markBodies(reflect.TypeOf(r.body))
		}
	}
	for _, lines := range []any{wire.URLLine{}, wire.VerdictLine{}, wire.ImportLine{}, wire.FoundURL{}, wire.Error{}} {
		g.schema(lines)
	}
	paths := map[string]openapi3.PathItem{}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		item := paths[path]
		item.WithMapOfOperationValuesItem(strings.ToLower(method), *g.operation(&r))
		paths[path] = item
	}
	bearer := openapi3.SecuritySchemeOrRef{SecurityScheme: &openapi3.SecurityScheme{HTTPSecurityScheme: (&openapi3.HTTPSecurityScheme{}).WithScheme("bearer")}}
	spec := &openapi3.Spec{Openapi: "3.0.3", Security: []map[string][]string{{}, {"token": {}}}, Servers: []openapi3.Server{{URL: "http://127.0.0.1:7072"}}}
	spec.Info.WithTitle("firstseen serve").WithVersion("1").WithLicense(openapi3.License{Name: "Apache-2.0"}).
		WithDescription("Offer URLs, lease those that may be fetched, report results. With tokens, send Authorization: Bearer. An answer of new, duplicate or ok is on disk, synced.")
	spec.Paths.MapOfPathItemValues = paths
	spec.WithComponents(openapi3.Components{
		Schemas:         &openapi3.ComponentsSchemas{MapOfSchemaOrRefValues: g.schemas},
		SecuritySchemes: &openapi3.ComponentsSecuritySchemes{MapOfSecuritySchemeOrRefValues: map[string]openapi3.SecuritySchemeOrRef{"token": bearer}},
	})
	b, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func (g *generator) operation(r *route) *openapi3.Operation {
	o := (&openapi3.Operation{}).WithID(r.id).WithSummary(r.summary)
	if r.more != "" {
		o.WithDescription(r.more)
	}
	if r.query != nil {
		o.Parameters = g.parameters(r.query)
	}
	statuses := []int{400, 401, 403, 429, 500, 503, 504}
	if r.body != nil {
		body := &openapi3.RequestBody{Content: g.content(r.body)}
		_, lines := r.body.(contents)
		o.WithRequestBody(openapi3.RequestBodyOrRef{RequestBody: body.WithRequired(!lines)})
		if statuses = append(statuses, 507); !lines {
			statuses = append(statuses, 408, 413)
		}
	}
	responses := map[string]openapi3.ResponseOrRef{}
	answer := &openapi3.Response{Description: r.is, Content: g.content(r.answer)}
	if r.header != "" {
		answer.WithHeadersItem(r.header, openapi3.HeaderOrRef{Header: (&openapi3.Header{}).WithDescription(r.headerIs).WithSchema(plainText())})
	}
	if r.counted != nil {
		maps.Copy(answer.Content, g.content(r.counted))
	}
	responses["200"] = openapi3.ResponseOrRef{Response: answer}
	texts := map[int]string{404: r.missing, 409: r.conflict}
	if r.need == Open { // health
		statuses = nil
		failed := *answer
		failed.Description = "Draining, or the store failed."
		responses["503"] = openapi3.ResponseOrRef{Response: &failed}
		if r.query != nil {
			refused := *answer
			refused.Description = errorTexts[400]
			responses["400"] = openapi3.ResponseOrRef{Response: &refused}
		}
	}
	for _, status := range statuses {
		texts[status] = errorTexts[status]
	}
	for status, is := range texts {
		if is != "" {
			responses[strconv.Itoa(status)] = openapi3.ResponseOrRef{Response: &openapi3.Response{Description: is, Content: g.content(wire.Error{})}}
		}
	}
	o.Responses.MapOfResponseOrRefValues = responses
	return o
}

func plainText() openapi3.SchemaOrRef {
	return openapi3.SchemaOrRef{Schema: (&openapi3.Schema{}).WithType(openapi3.SchemaTypeString)}
}

func (g *generator) content(v any) map[string]openapi3.MediaType {
	kinds, ok := v.(contents)
	if !ok {
		schema := g.schema(v)
		return map[string]openapi3.MediaType{"application/json": {Schema: &schema}}
	}
	content := map[string]openapi3.MediaType{}
	for _, kind := range kinds {
		schema := plainText()
		if kind == "application/octet-stream" {
			schema.Schema.WithFormat("binary")
		}
		content[kind] = openapi3.MediaType{Schema: &schema}
	}
	return content
}

// reflected returns what the library says of a type, with definitions of the types in it.
func (g *generator) reflected(v any) openapi3.SchemaOrRef {
	convert := func(s jsonschema.Schema) (out openapi3.SchemaOrRef) {
		out.FromJSONSchema(s.ToSchemaOrBool())
		return out
	}
	r := jsonschema.Reflector{}
	r.InlineDefinition(wire.Bytes{})
	s, err := r.Reflect(v, jsonschema.RootRef, jsonschema.DefinitionsPrefix("#/components/schemas/"),
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return schemaName(t) }),
		jsonschema.InterceptSchema(func(p jsonschema.InterceptSchemaParams) (bool, error) {
			bytes := p.Value.Type() == reflect.TypeFor[[]byte]() || p.Value.Type() == reflect.TypeFor[wire.Bytes]()
			if bytes {
				p.Schema.WithType(jsonschema.String.Type()).WithFormat("byte")
			}
			if p.Value.Kind() == reflect.Uint8 {
				p.Schema.WithMaximum(math.MaxUint8)
			}
			return bytes, nil
		}),
		jsonschema.CollectDefinitions(func(name string, s jsonschema.Schema) {
			if _, had := g.schemas[name]; !had {
				g.schemas[name] = convert(s)
			}
		}))
	if err != nil {
		g.t.Fatal(err)
	}
	return convert(s)
}

// schemaName is the name of a type, of a generic one without its argument.
func schemaName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// schema returns a reference to the schema of a type, and adds it and those of its fields to the document.
func (g *generator) schema(v any) openapi3.SchemaOrRef {
	s := g.reflected(v)
	g.complete(reflect.TypeOf(v))
	return s
}

// complete adds what the library does not know to the schemas of a type and those in it.
func (g *generator) complete(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	name := schemaName(t)
	s := g.schemas[name].Schema
	if t.Kind() != reflect.Struct || s == nil || s.AdditionalProperties != nil {
		return
	}
	no := false
	s.AdditionalProperties, s.Required = &openapi3.SchemaAdditionalProperties{Bool: &no}, nil
	s.WithDescription(g.comments[name])
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields follow
		}
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := s.Properties[field]
		optional := strings.Contains(options, "omit")
		if !optional {
			s.Required = append(s.Required, field)
		}
		nullable := optional && g.bodies[t]
		if property.SchemaReference != nil {
			if nullable {
				property = openapi3.SchemaOrRef{Schema: (&openapi3.Schema{AllOf: []openapi3.SchemaOrRef{property}}).WithNullable(true)}
			}
		} else if property.Schema != nil {
			property.Schema.Nullable = nil
			if nullable {
				property.Schema.WithNullable(true)
				if len(property.Schema.Enum) > 0 {
					property.Schema.Enum = append(property.Schema.Enum, nil)
				}
			}
			if text := g.describe(t, f); text != "" {
				property.Schema.WithDescription(text)
			}
		}
		s.Properties[field] = property
		g.complete(f.Type)
	}
}

func (g *generator) markBodies(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[contents]() {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || g.bodies[t] || t.PkgPath() == "time" {
		return
	}
	g.bodies[t] = true
	for _, f := range reflect.VisibleFields(t) {
		g.markBodies(f.Type)
	}
}

func (g *generator) parameters(query any) (list []openapi3.ParameterOrRef) {
	t := reflect.TypeOf(query)
	for _, f := range reflect.VisibleFields(t) {
		bare := reflect.New(reflect.StructOf([]reflect.StructField{{Name: f.Name, Type: f.Type,
			Tag: reflect.StructTag(strings.Replace(string(f.Tag), "query:", "json:", 1))}})).Elem().Interface()
		property := g.reflected(bare).Schema.Properties[f.Tag.Get("query")]
		property.Schema.Nullable = nil
		p := (&openapi3.Parameter{Name: f.Tag.Get("query"), In: openapi3.ParameterInQuery}).WithSchema(property)
		if text := g.describe(t, f); text != "" {
			p.WithDescription(text)
		}
		if f.Tag.Get("required") != "" {
			p.WithRequired(true)
		}
		if f.Tag.Get("allowEmptyValue") != "" {
			p.WithAllowEmptyValue(true)
		}
		list = append(list, openapi3.ParameterOrRef{Parameter: p})
	}
	return list
}

var camelCase = regexp.MustCompile(`\b[A-Z]\w*[A-Z]\w*[a-z]\w*\b`)

// describe returns the comment of a field, in which fields have their names in JSON.
func (g *generator) describe(t reflect.Type, f reflect.StructField) string {
	in := t // the type that the field is written in
	for _, i := range f.Index[:len(f.Index)-1] {
		in = in.Field(i).Type
	}
	text := g.comments[schemaName(in)+"."+f.Name]
	inJSON := func(name string) string {
		if other, ok := t.FieldByName(name); ok {
			field, _, _ := strings.Cut(other.Tag.Get("json")+other.Tag.Get("query"), ",")
			return field
		}
		return name
	}
	if rest, ok := strings.CutPrefix(text, f.Name+" "); ok {
		text = inJSON(f.Name) + " " + rest
	}
	return camelCase.ReplaceAllStringFunc(text, inJSON)
}

// commentsOf reads the comments of the types of a package and of their fields.
func commentsOf(t *testing.T, dir string) map[string]string {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	one := func(groups ...*ast.CommentGroup) string {
		for _, g := range groups {
			if g != nil {
				return strings.Join(strings.Fields(g.Text()), " ")
			}
		}
		return ""
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			spec := d.Specs[0].(*ast.TypeSpec)
			comments[spec.Name.Name] = one(d.Doc)
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						comments[spec.Name.Name+"."+name.Name] = one(field.Doc, field.Comment)
					}
				}
			}
		}
	}
	return comments
}

// TestOpenAPINull checks that each field which a body may leave out may also be null, and no other: it stays as it was.
func TestOpenAPINull(t *testing.T) {
	var doc promised
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	s := start(t, canon.Qiita(), Config{})
	bodies := []any{wire.URLLine{}, wire.DoneLease{}, wire.Fetched{}}
	for _, r := range s.web.described() {
		if r.body != nil && reflect.TypeOf(r.body).Kind() == reflect.Struct {
			bodies = append(bodies, r.body)
		}
	}
	for _, body := range bodies {
		of := reflect.TypeOf(body)
		schema := doc.Components.Schemas[schemaName(of)]
		for field, f := range schema.Properties {
			o := doc.least(schema).(map[string]any)
			o[field] = nil
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			v := reflect.New(of).Elem()
			_, err = newShape(of, "", "").read(text, 0, v)
			if taken := err == nil; taken != f.Nullable || taken && !v.FieldByIndex(s.web.shapeOf(of).fields[field].at).IsZero() {
				t.Errorf("%s: %s null: taken %v, nullable %v: %+v", of, field, taken, f.Nullable, v)
			}
		}
	}
}

// TestCrawlProfile chooses profiles by HTTP: the key and the wire.Explanation of a
// URL are made by its crawl's.
func TestCrawlProfile(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	choose := func(crawl, profile string) string {
		return s.request(t, "POST", "/v1/crawl", `{"crawl":"`+crawl+`","profile":"`+profile+`"}`)
	}
	offer := func(crawl string) string {
		return s.request(t, "POST", "/v1/urls", `{"url":"http://a.com//b#c","crawl":"`+crawl+`"}`)
	}
	for _, c := range []struct{ what, got, code, want string }{
		{"another", choose("w", "whatwg"), "200", `"whatwg"`},
		{"no profile", choose("w", "nonesuch"), "400", "nonesuch"},
		{"a URL of it", offer("w"), "200", `"http://a.com//b#c"`},
		{"back", choose("w", "qiita"), "409", "permanently"},
		{"back, as a conflict", choose("w", "qiita"), "409", `"code":"conflict"`},
		{"a URL of another crawl", offer("q"), "200", `"http://a.com/b"`},
		{"another, with URLs", choose("q", "surt"), "409", "1 URLs"},
		{"explained by it", s.request(t, "GET", "/v1/explain?url=http://a.com//b%23c&crawl=w", ""), "200", `"whatwg"`},
	} {
		if !strings.HasPrefix(c.got, c.code) || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s; want %s and %s", c.what, c.got, c.code, c.want)
		}
	}
}

package frontierpb

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestWire holds names, numbers and types to the table in testdata, which was
// made from URLFrontier 2.6 and never from this package.
func TestWire(t *testing.T) {
	want, err := os.ReadFile("testdata/wire-2.6.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := wire(File_urlfrontier_proto)
	wanted := strings.Split(strings.TrimSpace(string(want)), "\n")
	sort.Strings(wanted)
	if g, w := strings.Join(got, "\n"), strings.Join(wanted, "\n"); g != w {
		t.Errorf("got wire format\n%s\nwant\n%s", g, w)
	}
}

func wire(file protoreflect.FileDescriptor) []string {
	var lines []string
	for i := range file.Services().Len() {
		lines = append(lines, calls(file.Services().Get(i))...)
	}
	lines = append(lines, messages(file.Messages())...)
	sort.Strings(lines)
	return lines
}

func calls(s protoreflect.ServiceDescriptor) []string {
	var lines []string
	stream := map[bool]string{true: "stream ", false: ""}
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		lines = append(lines, fmt.Sprintf("%s.%s %s%s -> %s%s", s.FullName(), m.Name(),
			stream[m.IsStreamingClient()], m.Input().Name(), stream[m.IsStreamingServer()], m.Output().Name()))
	}
	return lines
}

func messages(ms protoreflect.MessageDescriptors) []string {
	var lines []string
	for i := range ms.Len() {
		m := ms.Get(i)
		lines = append(lines, "message "+string(m.Name()))
		for j := range m.Fields().Len() {
			lines = append(lines, field(m, m.Fields().Get(j)))
		}
		for j := range m.Enums().Len() {
			lines = append(lines, values(m.Enums().Get(j))...)
		}
		if !m.IsMapEntry() {
			lines = append(lines, messages(m.Messages())...)
		}
	}
	return lines
}

func field(m protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.IsMap():
		kind = "map " + field(f.Message(), f.MapKey()) + ", " + field(f.Message(), f.MapValue())
	case f.Message() != nil:
		kind = string(f.Message().Name())
	case f.Enum() != nil:
		kind = string(f.Enum().Name())
	}
	if f.IsList() {
		kind = "repeated " + kind
	}
	if f.HasOptionalKeyword() {
		kind = "optional " + kind
	}
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		kind += " oneof " + string(o.Name())
	}
	return fmt.Sprintf("%s.%s = %d %s", m.Name(), f.Name(), f.Number(), kind)
}

func values(e protoreflect.EnumDescriptor) []string {
	var lines []string
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		lines = append(lines, fmt.Sprintf("enum %s.%s = %d", e.Name(), v.Name(), v.Number()))
	}
	return lines
}

package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/firstseen/firstseen/store"
)

// shown returns an argument as text: without fields that are zero, with what pointers point to, with texts quoted, and with
// the beginning of keys.
func shown(v any) string { return shownValue(reflect.ValueOf(v)) }

func shownValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.Format(time.RFC3339Nano)
	case store.Key:
		return fmt.Sprintf("%x", x[:4])
	case fmt.Stringer:
		return x.String()
	case string, []byte:
		return fmt.Sprintf("%q", x)
	}
	var parts []string
	switch v.Kind() {
	case reflect.Pointer:
		return shownValue(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, shownValue(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				parts = append(parts, v.Type().Field(i).Name+":"+shownValue(v.Field(i)))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

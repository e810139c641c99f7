package durable

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/firstseen/firstseen/store"
)

// sealed is what is written: the checksum is of the bytes of the content.
type sealed struct {
	CRC32C  string          `json:"crc32c"`
	Content json.RawMessage `json:"content"`
}

func sum(content []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

// Marshal returns v as JSON with a checksum.
func Marshal(v any) ([]byte, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{sum(content), content})
}

// Unmarshal reads what Marshal returned into v. It also reads JSON without a checksum, as earlier versions wrote it.
// The error is store.ErrCorrupt if the checksum is another.
func Unmarshal(text []byte, v any) error {
	var s sealed
	if json.Unmarshal(text, &s) != nil || s.CRC32C == "" && s.Content == nil {
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		return nil
	}
	if have := sum(s.Content); have != s.CRC32C {
		return fmt.Errorf("%w: its checksum is %s, and that of its content %s", store.ErrCorrupt, s.CRC32C, have)
	}
	return json.Unmarshal(s.Content, v)
}

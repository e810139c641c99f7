package audit

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// EmptyBody is the SHA-1, in base32, of no bytes: not a content to compare.
const EmptyBody = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

// digestOf returns a digest without the name of its algorithm, in the alphabet that most logs use: SHA-1 in base32, MD5
// in lower-case hex, any other as it is. Of no content it is "".
func digestOf(s string) string {
	if _, after, ok := strings.Cut(s, ":"); ok {
		s = after
	}
	if raw, err := hex.DecodeString(s); err == nil && len(raw) == sha1.Size {
		s = base32.StdEncoding.EncodeToString(raw)
	} else if err == nil && len(raw) == md5.Size && !isBase32(s) {
		s = strings.ToLower(s)
	}
	if s == "-" || s == EmptyBody {
		return ""
	}
	return s
}

func isBase32(s string) bool {
	_, err := base32.StdEncoding.DecodeString(s)
	return err == nil
}

// kindOf distinguishes digests of different algorithms: the length of the text, and for SHA-1 in base32, which is as
// long as MD5 in hex, 0.
func kindOf(digest []byte) int {
	if len(digest) == 32 && isBase32(string(digest)) {
		return 0
	}
	return len(digest)
}

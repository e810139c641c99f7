package hasheduri

import (
	"errors"
	"testing"

	"github.com/firstseen/firstseen/hashkey/internal/vectors"
)

func TestEveryVectorFileIsOfAKnownSet(t *testing.T) { vectors.CheckKnown(t) }

func code(err error) string {
	var r Reason
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return string(r)
	}
	return "an error without a Reason"
}

func TestSumVectors(t *testing.T) {
	vectors.Each(t, "hashed_uri", func(t *testing.T, r struct {
		ID, Input, Error, Basic, N, P string
		NLiteral                      string `json:"n_literal"`
		PLiteral                      string `json:"p_literal"`
		MD5N                          string `json:"md5_n"`
		SHA1N                         string `json:"sha1_n"`
		SHA1P                         string `json:"sha1_p"`
		SHA1NLiteral                  string `json:"sha1_n_literal"`
		SHA1NFrag                     string `json:"sha1_n_frag"`
		SHA1NQuery                    string `json:"sha1_n_query"`
		SHA1NFragQuery                string `json:"sha1_n_frag_query"`
		Rulings                       []string
	}) {
		for _, c := range []struct {
			field string
			h     Hasher
			form  string // "" where the vectors have none
			want  string
		}{
			{"basic", Hasher{}, r.Basic, ""},
			{"n", Hasher{Variant: N, Algorithm: "sha1"}, r.N, r.SHA1N},
			{"p", Hasher{Variant: P}, r.P, r.SHA1P},
			{"n_literal", Hasher{Variant: N, Literal: true}, r.NLiteral, r.SHA1NLiteral},
			{"p_literal", Hasher{Variant: P, Literal: true}, r.PLiteral, ""},
			{"md5_n", Hasher{Variant: N, Algorithm: "md5"}, "", r.MD5N},
			{"sha1_n_frag", Hasher{Variant: N, KeepFragment: true}, "", r.SHA1NFrag},
			{"sha1_n_query", Hasher{Variant: N, KeepQuery: true}, "", r.SHA1NQuery},
			{"sha1_n_frag_query", Hasher{Variant: N, KeepFragment: true, KeepQuery: true}, "", r.SHA1NFragQuery},
		} {
			form, _, err := c.h.appendForm(nil, r.Input, c.h.KeepQuery, c.h.KeepFragment)
			if code(err) != r.Error || c.form != "" && string(form) != c.form {
				t.Errorf("%s: %s form of %q: got %q, %v; want %q, %q (rulings %v)", r.ID, c.field, r.Input, form, err, c.form, r.Error, r.Rulings)
			}
			u, err := c.h.Sum(r.Input)
			if code(err) != r.Error || c.want != "" && u.String() != c.want {
				t.Errorf("%s: %s of %q: got %s, %v; want %s, %q (rulings %v)", r.ID, c.field, r.Input, u, err, c.want, r.Error, r.Rulings)
			}
		}
	})
}

func TestParseVectors(t *testing.T) {
	vectors.Each(t, "hashed_parse", func(t *testing.T, r struct {
		Input, Alg, Hash, Canonical, Error string
		Frag, Query                        bool
	}) {
		got, err := Parse(r.Input)
		if want := (URI{r.Alg, r.Hash, r.Frag, r.Query}); got != want || code(err) != r.Error || err == nil && got.String() != r.Canonical {
			t.Errorf("%q: got %+v, %v; want %+v, %q", r.Input, got, err, want, r.Error)
		}
	})
}

func TestMatchVectors(t *testing.T) {
	variants := map[string]Variant{"n": N, "p": P, "basic": None, "none": None}
	vectors.Each(t, "hashed_match", func(t *testing.T, r struct {
		Hashed, Candidate, Variant string
		Match                      bool
	}) {
		variant, ok := variants[r.Variant]
		u, err := Parse(r.Hashed)
		if !ok || err != nil {
			t.Fatalf("%+v: got %v; want a variant and a hashed URI that are known", r, err)
		}
		h := Hasher{Variant: variant}
		if got, err := h.Match(u, r.Candidate); got != r.Match || err != nil {
			t.Errorf("%+v: got %t, %v", r, got, err)
		}
		l := list(t, h, r.Hashed)
		if entry, got := l.Match(r.Candidate); got != r.Match || got && entry != u {
			t.Errorf("%+v: the list says %v, %t", r, entry, got)
		}
	})
}

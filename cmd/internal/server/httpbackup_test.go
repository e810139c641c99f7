package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// fakeStore makes backups of nothing.
type fakeStore struct{ err error }

func (s *fakeStore) Backup(_ context.Context, dir string, _ ...string) (pebblestore.BackupSize, error) {
	return pebblestore.BackupSize{Keys: 7, Bytes: 9, Copied: 5}, errors.Join(s.err, os.Mkdir(dir, 0o750))
}

// TestBackup makes backups by HTTP, and reads them in the list and in the metrics.
func TestBackup(t *testing.T) {
	path, st := filepath.Join(t.TempDir(), "b"), &fakeStore{}
	d, err := durable.OpenBackups(path, st, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, canon.Qiita(), Config{Backups: d})
	none := start(t, canon.Qiita(), Config{})
	post := func(body string) string { return s.request(t, "POST", "/v1/backup", body) }
	for _, c := range []struct{ what, got, code, want string }{
		{"one", post(`{"name":"a"}`), "200", `"keys":7`},
		{"again", post(`{"name":"a"}`), "409", "exists"},
		{"outside", post(`{"name":"../a"}`), "400", "letters"},
		{"keep", post(`{"name":"b","keep":1}`), "200", `"removed":["a"]`},
		{"less than none", post(`{"keep":-1}`), "400", "keep"},
		{"the list", s.request(t, "GET", "/v1/backup", ""), "200", `{"backups":[{"name":"b",`},
		{"no directory", none.request(t, "POST", "/v1/backup", "{}"), "409", "--backup-dir"},
		{"no list", none.request(t, "GET", "/v1/backup", ""), "409", "--backup-dir"},
	} {
		if !strings.HasPrefix(c.got, c.code) || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s; want %s and %s", c.what, c.got, c.code, c.want)
		}
	}
	st.err = errors.New("no disk")
	if got := post(`{"name":"c"}`); !strings.HasPrefix(got, "500") {
		t.Errorf("got %s; want 500", got)
	}
	metrics := s.request(t, "GET", "/metrics", "")
	for _, want := range []string{"firstseen_backup_bytes 9", "firstseen_backup_failures_total 1", "firstseen_backup_time_seconds 1"} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

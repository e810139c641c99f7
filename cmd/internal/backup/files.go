package backup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// besides are the files in the directory of a store that are not the store's own. The
// fetches are lines with checksums, so that a copy may end within one. declared.json is replaced
// by a rename, so that a copy is whole.
var besides = []string{"imports.jsonl", "declared.json", filepath.Join("captures", "captures.log")}

// copyBesides copies these files, and returns their size.
func copyBesides(from, to string) (n int64, err error) {
	for _, name := range besides {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return n, err
		}
		some, err := copyFile(source, target)
		if err = errors.Join(err, syncDir(filepath.Dir(target))); err != nil {
			return n, err
		}
		n += some
	}
	return n, nil
}

func copyFile(from, to string) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, in)
	return n, errors.Join(err, out.Sync(), out.Close())
}

func writeFile(name string, text []byte) error {
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return errors.Join(err, out.Sync(), out.Close())
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

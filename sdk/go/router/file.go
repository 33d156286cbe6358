package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plannerd/sdk/go/wire"
)

// format is that of the file.
const format = 1

// kept is what is in the file.
type kept struct {
	Format int `json:"format"`
	// ETag is that of the answer by which the table became what it is, so that the server
	// answers at once when that is not so any more.
	ETag  string             `json:"etag"`
	Table *wire.RoutingTable `json:"table"`
}

// readFile returns what is in a file; nil: there is none.
func readFile(path string) (*kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	var out kept
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("router: %s: %w", path, err)
	}
	if out.Format != format || out.Table == nil {
		return nil, fmt.Errorf("router: %s is no routing table of format %d", path, format)
	}
	return &out, nil
}

// writeFile replaces the file: whenever the machine fails, there is the old one or the new
// one.
func writeFile(path string, k kept) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("router: %w", err)
		}
	}()
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

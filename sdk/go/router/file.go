package router

import (
	"bytes"
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

// kept is a line of the file. The first has a whole table, the others the changes that came
// after it.
type kept struct {
	Format int `json:"format"`
	// ETag is that of the answer by which the table became what it is, so that the server
	// answers at once when that is not so any more.
	ETag  string             `json:"etag"`
	Table *wire.RoutingTable `json:"table"`
}

// readFile returns the lines of a file; none: there is no file. A last line that was not
// finished is left out: what it says was never gone by.
func readFile(path string) ([]kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	lines := bytes.Split(text, []byte("\n"))
	out := make([]kept, len(lines)-1)
	if len(out) == 0 {
		return nil, fmt.Errorf("router: %s is no routing table", path)
	}
	for i := range out {
		if err := json.Unmarshal(lines[i], &out[i]); err != nil {
			return nil, fmt.Errorf("router: %s: line %d: %w", path, i+1, err)
		}
		if out[i].Format != format || out[i].Table == nil {
			return nil, fmt.Errorf("router: %s: line %d is no routing table of format %d", path, i+1, format)
		}
	}
	return out, nil
}

// leastLog is the length of changes that are not worth a new file, in bytes.
const leastLog = 1 << 16

// file keeps a table. It is written anew with the whole table, and then grows by changes,
// which are written at once, until they are longer than the table.
type file struct {
	path        string
	log         *os.File // nil: it has to be written anew
	whole, more int      // the lengths of the first line and of all others
}

// add adds a change, after which the table is what whole returns.
func (f *file) add(change kept, whole func() *wire.RoutingTable) error {
	line, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("router: %w", err)
	}
	line = append(line, '\n')
	isWhole := change.Table.FromVersion == nil || change.Table.Full != nil && *change.Table.Full
	if f.log == nil || isWhole || f.more+len(line) > max(f.whole, leastLog) {
		change.Table = whole()
		return f.replace(change)
	}
	f.more += len(line)
	_, err = f.log.Write(line)
	if err = errors.Join(err, f.log.Sync()); err != nil {
		return fmt.Errorf("router: %w", errors.Join(err, f.close())) // there may be half a line
	}
	return nil
}

// replace writes the file anew: whenever the machine fails, there is the old one or the new
// one.
func (f *file) replace(k kept) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("router: %w", err)
		}
	}()
	line, err := json.Marshal(k)
	if err := errors.Join(err, f.close()); err != nil {
		return err
	}
	line = append(line, '\n')
	next, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = next.Write(line)
	if err = errors.Join(err, next.Sync()); err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	f.log, f.whole, f.more = next, len(line), 0
	return syncFolder(filepath.Dir(f.path))
}

// close closes the file, which is written anew next time.
func (f *file) close() error {
	if f.log == nil {
		return nil
	}
	log := f.log
	f.log = nil
	return log.Close()
}

// syncFolder makes a rename last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

package fill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"plannerd/internal/statsio"
	"plannerd/planner"
)

// ErrNoStreams says that the recorded key streams are not there.
var ErrNoStreams = errors.New("the real key streams are not there: they are expected in ../shared/data beside the project")

// interval is the body of a request with the statistics of one.
type interval struct {
	Interval int64   `json:"interval"`
	Columns  columns `json:"columns"`
}

type columns struct {
	Key   []string  `json:"key"`
	Cost  []float64 `json:"cost"`
	State []float64 `json:"state,omitempty"`
}

// asInterval makes a body of statistics.
func asInterval(number int64, s *planner.Statistics) *interval {
	in := &interval{Interval: number, Columns: columns{Key: make([]string, s.Len()), Cost: s.Cost, State: s.State}}
	for i := range in.Columns.Key {
		in.Columns.Key[i] = string(s.Keys.At(i))
	}
	return in
}

// read returns the first n intervals of a recorded stream.
func (f *filler) read(stream string, n int) (out []*interval, err error) {
	err = f.each(stream, n, func(number int64, s *planner.Statistics) error {
		out = append(out, asInterval(number, s))
		return nil
	})
	return out, err
}

// each yields the first n intervals of a recorded stream.
func (f *filler) each(stream string, n int, yield func(number int64, s *planner.Statistics) error) error {
	file, err := os.Open(filepath.Join(f.data, filepath.FromSlash(stream)+".csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoStreams
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	text, format, err := statsio.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", stream, err)
	}
	defer func() { _ = text.Close() }() // only read from
	s := statsio.NewStream(text, format, statsio.Options{})
	for range n {
		number, document, err := s.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has fewer than %d intervals", stream, n)
		}
		if err == nil {
			err = yield(number, document.Stats)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", stream, err)
		}
	}
	return nil
}

package streams

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plannerd/planner"
)

// BesideProject is where recordings may lie, seen from the root of the project.
const BesideProject = "../shared/data"

// Beside returns the folder of the recordings beside the project that the working
// directory is in. It need not exist.
func Beside() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Join(folder, filepath.FromSlash(BesideProject)), nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("there is no go.mod above the working directory")
		}
		folder = above
	}
}

// Recorded are the recordings in a folder's folders: the files whose name contains
// "intervals", gzipped CSV with the columns interval, key, cost and perhaps the bytes
// of state. A folder that is not there has none.
func Recorded(folder string) ([]Stream, error) {
	return recordings(folder, "*intervals*.csv.gz", csvStream)
}

// RecordedSequences are those whose name contains "keys": gzipped text, one key a
// line.
func RecordedSequences(folder string) ([]Sequence, error) {
	return recordings(folder, "*keys*.txt.gz", lineSequence)
}

// recordings makes what the files of a pattern hold.
func recordings[T any](folder, pattern string, of func(name string, open opener) T) (all []T, err error) {
	files, err := fs.Glob(os.DirFS(folder), "*/"+pattern)
	for _, file := range files {
		name, _, _ := strings.Cut(file, ".")
		all = append(all, of(name, func() (io.ReadCloser, error) {
			return os.Open(filepath.Join(folder, filepath.FromSlash(file)))
		}))
	}
	return all, err
}

// opener opens a gzipped file.
type opener func() (io.ReadCloser, error)

// unzip lets read have the text.
func (o opener) unzip(read func(io.Reader) error) (err error) {
	file, err := o()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return err
	}
	return read(text)
}

// errEnough ends reading early.
var errEnough = errors.New("enough")

func csvStream(name string, open opener) Stream {
	return Stream{Name: name, Intervals: func(yield func(Interval, error) bool) {
		err := open.unzip(func(text io.Reader) error { return readIntervals(text, yield) })
		if err != nil && !errors.Is(err, errEnough) {
			yield(Interval{}, err)
		}
	}}
}

// readIntervals yields the intervals of CSV with a header.
func readIntervals(text io.Reader, yield func(Interval, error) bool) error {
	lines := csv.NewReader(text)
	lines.LazyQuotes, lines.ReuseRecord = true, true
	header, err := lines.Read()
	if err != nil {
		return err
	}
	columns := len(header) // the state may be missing
	var in Interval
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		number, err := strconv.ParseInt(line[0], 10, 64)
		if err != nil {
			return err
		}
		if in.Statistics == nil || number != in.Number {
			if in.Statistics != nil && !yield(in, nil) {
				return errEnough
			}
			in = Interval{number, &planner.Statistics{Keys: planner.NewKeys(0)}}
		}
		in.Keys.Append([]byte(line[1]))
		for i, column := range []*[]float64{&in.Cost, &in.State}[:columns-2] {
			amount, err := strconv.ParseFloat(line[2+i], 64)
			if err != nil {
				return err
			}
			*column = append(*column, amount)
		}
	}
	if in.Statistics != nil && !yield(in, nil) {
		return errEnough
	}
	return nil
}

func lineSequence(name string, open opener) Sequence {
	return sequence(name, func(message func(key []byte)) error {
		return open.unzip(func(text io.Reader) error {
			lines := bufio.NewScanner(text)
			for lines.Scan() {
				message(lines.Bytes())
			}
			return lines.Err()
		})
	})
}

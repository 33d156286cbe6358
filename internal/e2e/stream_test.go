package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// dataDir holds the real key streams, beside the project.
const dataDir = "../../../shared/data"

// row is one key of one interval.
type row struct {
	key         string
	cost, state float64
}

// interval is one interval of a stream.
type interval struct {
	number int64
	rows   []row
}

// streams lists the real streams, or skips the test.
func streams(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dataDir, "*", "*intervals*.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("the real key streams are not there: they are expected in ../shared/data beside the project")
		}
		t.Skip("the real key streams are not there: they are expected in ../shared/data beside the project")
	}
	return files
}

// read returns the first n intervals of a stream (all if n is 0). Without a
// state column, each key has state 1.
func read(t *testing.T, file string, n int) []interval {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(z)
	r.LazyQuotes = true
	header, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	var out []interval
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		number := int64(parse(t, line[0]))
		if len(out) == 0 || out[len(out)-1].number != number {
			if n > 0 && len(out) == n {
				return out
			}
			out = append(out, interval{number: number})
		}
		x := row{key: line[1], cost: parse(t, line[2]), state: 1}
		if len(header) > 3 {
			x.state = parse(t, line[3])
		}
		last := &out[len(out)-1]
		last.rows = append(last.rows, x)
	}
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

package job

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keys is a stream of keys. All sources agree on it: of R sources, each takes every R-th key.
type keys interface {
	// next is the next key of a source, some time after the begin; false: there are no more.
	next(passed time.Duration) (key string, ok bool)
}

// zipf draws keys by Zipf's law, whose ranks change from time to time.
type zipf struct {
	shift, shifted time.Duration
	swaps          int
	own, shared    *rand.Rand // all sources agree which keys are hot
	cumulated      []float64
	ranks          []int
}

func newZipf(c config, source int) *zipf {
	z := &zipf{shift: c.shift, swaps: c.swaps, own: rand.New(rand.NewPCG(c.seed, uint64(source+1))),
		shared: rand.New(rand.NewPCG(c.seed, 0)), cumulated: make([]float64, c.keys)}
	sum := 0.0
	for i := range z.cumulated {
		sum += math.Pow(float64(i+1), -c.zipf)
		z.cumulated[i] = sum
	}
	z.ranks = z.shared.Perm(c.keys)
	return z
}

func (z *zipf) next(passed time.Duration) (string, bool) {
	n := len(z.ranks)
	for ; z.shift > 0 && passed-z.shifted >= z.shift; z.shifted += z.shift {
		for range z.swaps { // some keys become what others were
			i, j := z.shared.IntN(n), z.shared.IntN(min(n, 20))
			z.ranks[i], z.ranks[j] = z.ranks[j], z.ranks[i]
		}
	}
	rank, _ := slices.BinarySearch(z.cumulated, z.own.Float64()*z.cumulated[n-1])
	return "word-" + strconv.Itoa(z.ranks[min(rank, n-1)]), true
}

// recorded replays a recorded stream: the messages of an interval in the order of the file,
// or in a random order where that has only counts.
type recorded struct {
	intervals     [][]string
	every         time.Duration // how long an interval lasts: until then it is repeated; 0: each is played once
	source, step  int
	interval, pos int
}

func (r *recorded) next(passed time.Duration) (string, bool) {
	if r.every > 0 {
		if now := int(passed/r.every) % len(r.intervals); now != r.interval {
			r.interval, r.pos = now, r.source
		}
	}
	for r.pos >= len(r.intervals[r.interval]) {
		r.pos -= len(r.intervals[r.interval])
		if r.every == 0 {
			if r.interval++; r.interval == len(r.intervals) {
				r.interval-- // and the position stays behind the end
				r.pos = math.MaxInt
				return "", false
			}
		}
	}
	key := r.intervals[r.interval][r.pos]
	r.pos += r.step
	return key, true
}

// newKeys returns the keys of a source.
func (c config) newKeys(recording [][]string, source int) keys {
	if recording == nil {
		return newZipf(c, source)
	}
	return &recorded{intervals: recording, every: c.shift, source: source, step: c.routers, pos: source}
}

// mostReplayed is the most messages that an interval of a recording is made of; where
// there were more, each key has its part of so many, one at least.
const mostReplayed = 1 << 20

// readRecording reads a recorded stream: statistics in CSV or NDJSON, with key, cost and, if
// there are several, interval; or a text of one key a line, which is one interval. Each may
// be compressed with gzip.
func readRecording(path string, seed uint64) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	name := strings.TrimSuffix(path, ".gz")
	if name != path {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var out [][]string
	switch {
	case strings.HasSuffix(name, ".csv"):
		out, err = expand(csvRows(in), seed)
	case strings.HasSuffix(name, ".ndjson"):
		out, err = expand(jsonRows(in), seed)
	default:
		lines := bufio.NewScanner(in)
		var all []string
		for lines.Scan() {
			all = append(all, lines.Text())
		}
		out, err = [][]string{all}, lines.Err()
	}
	if err == nil && (len(out) == 0 || len(out[0]) == 0) {
		err = errors.New("it has no messages")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// row is a row of statistics.
type row struct {
	Interval  int64   `json:"interval"`
	Key       string  `json:"key"`
	Cost      float64 `json:"cost"`
	Frequency float64 `json:"frequency"`
}

func jsonRows(in io.Reader) func() (row, error) {
	d := json.NewDecoder(in)
	return func() (r row, err error) {
		err = d.Decode(&r)
		return r, err
	}
}

func csvRows(in io.Reader) func() (row, error) {
	c := csv.NewReader(in)
	c.ReuseRecord = true
	var columns []string
	return func() (r row, err error) {
		for {
			record, err := c.Read()
			if err != nil {
				return r, err
			}
			if columns == nil {
				columns = slices.Clone(record)
				continue
			}
			for i, text := range record {
				var err error
				switch columns[i] {
				case "interval":
					r.Interval, err = strconv.ParseInt(text, 10, 64)
				case "key":
					r.Key = text
				case "cost", "frequency":
					r.Cost, err = strconv.ParseFloat(text, 64)
				}
				if err != nil {
					return r, err
				}
			}
			return r, nil
		}
	}
}

// expand makes messages of rows: as many of each key as it cost, in a random order.
func expand(next func() (row, error), seed uint64) ([][]string, error) {
	rows := map[int64][]row{}
	for {
		r, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		r.Cost = cmp.Or(r.Cost, r.Frequency)
		if r.Key == "" || r.Cost < 0 {
			return nil, fmt.Errorf("a row of key %q and cost %v", r.Key, r.Cost)
		}
		rows[r.Interval] = append(rows[r.Interval], r)
	}
	var numbers []int64
	for i := range rows {
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	random := rand.New(rand.NewPCG(seed, 0))
	var out [][]string
	for _, i := range numbers {
		total := 0.0
		for _, r := range rows[i] {
			total += r.Cost
		}
		scale := min(1, mostReplayed/total)
		var list []string
		for _, r := range rows[i] {
			for range int(math.Ceil(r.Cost * scale)) {
				list = append(list, r.Key)
			}
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if len(list) > 0 {
			out = append(out, list)
		}
	}
	return out, nil
}

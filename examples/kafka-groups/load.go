package main

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
)

// source is what the keys of messages are drawn from.
type source struct {
	*rand.Rand
	keys
	change func() // has other keys be hot
}

// keys are names, with the sums of their weights up to each.
type keys struct {
	names []string
	sums  []float64
}

func (k *keys) add(name string, weight float64) {
	if n := len(k.sums); n > 0 {
		weight += k.sums[n-1]
	}
	k.names, k.sums = append(k.names, name), append(k.sums, weight)
}

// draw is the key of the next message.
func (s *source) draw() string {
	i, _ := slices.BinarySearch(s.sums, s.Float64()*s.sums[len(s.sums)-1])
	return s.names[i]
}

// source has keys by Zipf's law, of which hot ones change places with others; or those of the intervals of
// a recorded stream, one after the other, as often as they came.
func (c *config) source() (*source, error) {
	s := &source{Rand: rand.New(rand.NewPCG(c.seed, 1))}
	if c.replay != "" {
		intervals, err := recorded(c.replay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.replay, err)
		}
		at := -1
		s.change = func() {
			at = (at + 1) % len(intervals)
			s.keys = intervals[at]
		}
		s.change()
		return s, nil
	}
	for i, name := range s.Perm(c.keys) {
		s.add("user:"+strconv.Itoa(name), math.Pow(float64(i+1), -c.zipf))
	}
	s.change = func() {
		for range c.swaps {
			hot, any := s.IntN(2*c.swaps), s.IntN(c.keys)
			s.names[hot], s.names[any] = s.names[any], s.names[hot]
		}
	}
	return s, nil
}

// recorded reads the intervals of a file of CSV that gzip has compressed: interval, key, cost, and what
// else there may be.
func recorded(name string) (intervals []keys, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) < 3 {
		return nil, cmp.Or(err, errors.New("there are no rows of interval, key and cost"))
	}
	for i, row := range rows[1:] {
		if i == 0 || row[0] != rows[i][0] {
			intervals = append(intervals, keys{})
		}
		cost, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return nil, err
		}
		intervals[len(intervals)-1].add(row[1], cost)
	}
	return intervals, nil
}

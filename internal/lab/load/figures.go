package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	goccy "github.com/goccy/go-json"

	"plannerd/internal/lab/measure"
)

// times are durations of the same thing.
type times []time.Duration

// quantile is the p-quantile; 0 when there are none.
func (t times) quantile(p float64) time.Duration { return measure.Quantile(t, p) }

// median is the middle, or the mean of the two in the middle.
func (t times) median() time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (t times) least() time.Duration    { return t.quantile(0) }
func (t times) greatest() time.Duration { return t.quantile(1) }

// timed returns how long f takes.
func timed(f func() error) (time.Duration, error) {
	begin := time.Now()
	err := f()
	return time.Since(begin), err
}

// reference is what general decoders make of JSON rows: the least that they could
// be asked for, without pointers for members that may be left out.
type reference struct {
	Interval int64 `json:"interval"`
	Keys     []struct {
		Key      string  `json:"key"`
		Cost     float64 `json:"cost"`
		State    float64 `json:"state"`
		Instance int32   `json:"instance"`
	} `json:"keys"`
}

// goccyTime is how long the fastest general decoder takes for a body.
func goccyTime(body []byte) (time.Duration, error) {
	return timed(func() error { return goccy.Unmarshal(body, new(reference)) })
}

// encodingJSONTime is how long the standard library takes for a body.
func encodingJSONTime(body []byte) (time.Duration, error) {
	return timed(func() error { return json.Unmarshal(body, new(reference)) })
}

func ms(d time.Duration) string { return measure.Milliseconds(d) }

// mb writes bytes in millions.
func mb(n int64) string {
	if n < 10e6 {
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// ratio is a/b, NaN when b is 0.
func ratio[A, B int64 | time.Duration](a A, b B) float64 {
	if b == 0 {
		return math.NaN()
	}
	return float64(a) / float64(b)
}

// markdown collects the rows of a Markdown table.
type markdown struct {
	head []string
	rows [][]string
}

func (t *markdown) add(cells ...string) { t.rows = append(t.rows, cells) }

// String is the table in Markdown.
func (t *markdown) String() string {
	var b strings.Builder
	b.WriteString("| " + strings.Join(t.head, " | ") + " |\n" + strings.Repeat("|---", len(t.head)) + "|\n")
	for _, row := range t.rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

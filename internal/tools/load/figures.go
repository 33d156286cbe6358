package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	goccy "github.com/goccy/go-json"
)

// times are durations of the same thing.
type times []time.Duration

// quantile returns the p-quantile by nearest rank: the least duration that at
// least a share p of all do not exceed. 0 when there are none.
func (t times) quantile(p float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

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

// sortedFloats is how many numbers the yardstick sorts.
const sortedFloats = 1_000_000

// sortTime is the yardstick.
func sortTime() time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := make([]float64, sortedFloats)
	for i := range numbers {
		numbers[i] = r.Float64()
	}
	took, _ := timed(func() error { slices.Sort(numbers); return nil })
	return took
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

// ms writes a duration in milliseconds, to three digits.
func ms(d time.Duration) string {
	x := float64(d) / 1e6
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f ms", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f ms", x)
	}
	return fmt.Sprintf("%.2f ms", x)
}

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

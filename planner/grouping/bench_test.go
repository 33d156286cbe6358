package grouping

import (
	"strconv"
	"testing"
)

// One operation is a whole run of a million messages of a Zipf stream: its
// generation, the decisions, all figures and all bounds.
func BenchmarkRun(b *testing.B) {
	s := zipf(b, 100_000, 1, 1_000_000, 1)
	recorded := ordered(b, s)
	for _, scheme := range Schemes() {
		b.Run("scheme="+string(scheme)+"/messages=1e6/keys=1e5/workers=100", func(b *testing.B) {
			benchmarkRun(b, recorded, Options{Scheme: scheme, Workers: 100})
		})
	}
	for _, shape := range []struct {
		name string
		s    *Stream
		o    Options
	}{
		{"generated", s, Options{Workers: 100}},
		{"choices=5", recorded, Options{Workers: 100, Choices: 5}},
		{"local/sources=10", recorded, Options{Workers: 100, Sources: 10, LoadInformation: Local}},
		{"probing/sources=10", recorded, Options{Workers: 100, Sources: 10, LoadInformation: LocalProbing,
			ProbePeriod: 1000}},
		{"agreement/sources=10", recorded, Options{Workers: 100, Sources: 10, LoadInformation: Local, CompareGlobal: true}},
		{"periods=100", recorded, Options{Workers: 100, AggregationPeriod: 10_000}},
		{"w_choices/workers=10000", recorded, Options{Scheme: WChoices, Workers: 10_000}},
		{"on_greedy/workers=10000", recorded, Options{Scheme: OnGreedy, Workers: 10_000}},
	} {
		b.Run(shape.name, func(b *testing.B) { benchmarkRun(b, shape.s, shape.o) })
	}
	million := ordered(b, zipf(b, 1_000_000, 0.5, 1_000_000, 1))
	b.Run("keys=1e6", func(b *testing.B) { benchmarkRun(b, million, Options{Workers: 100}) })
}

// ordered is the same stream as a recorded sample.
func ordered(t testing.TB, s *Stream) *Stream {
	t.Helper()
	var sample []int32
	for c := s.read(1); ; {
		keys, _ := c.next()
		if len(keys) == 0 {
			break
		}
		sample = append(sample, keys...)
	}
	recorded, err := NewStream(s.keys, sample)
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

func benchmarkRun(b *testing.B, s *Stream, o Options) {
	b.ReportAllocs()
	var r *Result
	for b.Loop() {
		var err error
		if r, err = Run(s, o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(r.Imbalance, "I(m)/m")
	b.ReportMetric(r.Bounds.Split, "bound")
}

// One operation is the drawing of a million messages.
func BenchmarkDraw(b *testing.B) {
	keys := make([]int32, 1_000_000)
	for _, n := range []int{1000, 100_000, 1_000_000} {
		counts := zipfWeights(n, 1)
		left := len(keys)
		for k := range counts {
			counts[k] = counts[k] * int64(len(keys)) >> 40
			left -= int(counts[k])
		}
		counts[0] += int64(left)
		for _, remove := range []bool{false, true} {
			b.Run("keys="+strconv.Itoa(n)+"/remove="+strconv.FormatBool(remove), func(b *testing.B) {
				for b.Loop() {
					newUrn(counts, 1, remove).draw(keys)
				}
			})
		}
	}
}

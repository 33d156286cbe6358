package grouping

import (
	"slices"
	"testing"
)

// BenchmarkReplan decides on the head of a million keys.
func BenchmarkReplan(b *testing.B) {
	s, capacity := zipfInterval(1_000_000, 1.2, 1), slices.Repeat([]float64{1}, 40)
	for b.Loop() {
		l, err := Layout{Workers: 40, Choices: 2}.Replan(s, capacity, LayoutOptions{Scheme: DChoices, ThetaMax: 0.05})
		if err != nil || len(l.Head) == 0 {
			b.Fatal(l, err)
		}
	}
}

package reproduce

import (
	"math"

	"plannerd/planner/grouping"
)

// pkgIdle sends W keys alike to W workers: the two choices of all keys together leave some
// workers out, whatever the order of the messages.
func pkgIdle(m *measurement) {
	m.setting("W keys alike, two choices each, %d messages for each key", of(m, 200, 10_000))
	m.axes("W", "share of the workers without messages, and I(m) over m/W")
	least := math.Inf(1)
	for _, w := range of(m, []int{10, 100, 500}, []int{10, 100, 1000}) {
		stream := func(seed uint64) *grouping.Stream {
			return zipf(w, 0, int64(w)*int64(of(m, 200, 10_000)), seed)
		}
		all := m.figures(stream, grouping.Options{Workers: w}, func(r *grouping.Result) []float64 {
			idle := 0.0
			for _, x := range r.Workers {
				if x.Load == 0 {
					idle++
				}
			}
			return []float64{idle / float64(w), r.Imbalance * float64(w)}
		})
		m.add("idle workers", w, all[0]...)
		m.add("imbalance", w, all[1]...)
		least = min(least, median(all[1]))
	}
	m.claim(least >= 0.156, "the imbalance is at least 0.156 m/W (here %.3f)", least)
}

// pkgMemory counts what workers hold with more choices.
func pkgMemory(m *measurement) {
	keys, messages := of(m, 20_000, 1_000_000), int64(of(m, 400_000, 10_000_000))
	m.setting("Zipf z 1.2, %d keys, %d messages, W 40, S 5", keys, messages)
	m.axes("d", "pairs of key and worker, over those of key grouping")
	made := m.made(dataset{"ZF", func(seed uint64) *grouping.Stream {
		return zipf(keys, 1.2, messages, seed)
	}})
	within, below := true, true
	for _, d := range []int{1, 2, 4, 9, 20} {
		all := m.figures(made, local(40, 5, d), func(r *grouping.Result) []float64 {
			one := float64(r.Memory.KeyGrouping)
			return []float64{float64(r.Memory.Pairs) / one, float64(r.Memory.ShuffleGrouping) / one}
		})
		m.add("pkg", d, all[0]...)
		m.add("shuffle", d, all[1]...)
		for i := range all[0] {
			within, below = within && all[0][i] <= float64(d), below && all[0][i] < all[1][i]
		}
	}
	m.claim(within, "memory grows by a factor of d at most")
	m.claim(below, "it is still below that of shuffle grouping")
}

package planner

// SumsBy adds up non-negative amounts by group, of which there are so many: amount i
// counts times[i] times and is of group[i]. The sums do not depend on the order of the
// amounts.
func SumsBy(groups int, group []int32, amounts []float64, times []int64) []float64 {
	var m magnitudes
	m.addAll(amounts, times, 0, len(amounts))
	f, sums := newFixed(&m), make([]int64, groups)
	for i, x := range amounts {
		sums[group[i]] += f.of(x) * times[i]
	}
	out := make([]float64, groups)
	for g, v := range sums {
		out[g] = f.float(v)
	}
	return out
}

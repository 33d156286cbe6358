package exact

// SumsBy adds up non-negative amounts by group: amount i belongs to group[i], which is
// less than groups, and counts times[i] times; nil times are 1 each. The sums do not
// depend on the order of the amounts.
func SumsBy(groups int, group []int32, amounts []float64, times []int64) []float64 {
	scale, sums := ScaleOf(amounts, times), make([]int64, groups)
	for i, x := range amounts {
		n := int64(1)
		if times != nil {
			n = times[i]
		}
		sums[group[i]] += scale.Fixed(x) * n
	}
	out := make([]float64, groups)
	for g, v := range sums {
		out[g] = scale.Float(v)
	}
	return out
}

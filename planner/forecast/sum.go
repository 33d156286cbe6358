package forecast

// sum adds up products of shares, from -1 to 1 each. Their order does not matter.
type sum struct{ fixed int64 }

// sumUnit leaves room for 64 times the sum of all shares.
const sumUnit = 1 << 56

func (s *sum) add(x float64) { s.fixed += int64(x * sumUnit) }

func (s *sum) value() float64 { return float64(float64(s.fixed) / sumUnit) }

// sumOf adds up those of parts.
func sumOf(parts []sum) (all sum) {
	for _, part := range parts {
		all.fixed += part.fixed
	}
	return all
}

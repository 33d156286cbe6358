package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNumbers compares numbers of every form with strconv, bit by bit.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var texts []string
	for range 100_000 {
		x := math.Float64frombits(r.Uint64())
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		texts = append(texts, strconv.FormatFloat(x, 'e', r.IntN(20), 64),
			strconv.FormatFloat(float64(r.Uint64N(1<<uint(1+r.IntN(63))))/math.Pow10(r.IntN(12)), 'f', -1, 64))
		whole, part := strconv.FormatUint(r.Uint64N(1<<uint(1+r.IntN(63))), 10),
			fmt.Sprintf("%0*d", 1+r.IntN(12), r.Uint64N(1e12))
		texts = append(texts, whole, "-"+whole+"."+part, "0."+part)
	}
	texts = append(texts, "0", "-0", "0.0", "9007199254740992", "9007199254740993", "900719925474099.3", "99999999",
		"100000000", "12345678.12345678",
		"0.00000000000000001", "0.000000000000000001", "999999999999999999", "9999999999999999999", "18446744073709551616",
		"1e22", "1e23", "4.9e-324", "2e-324", "1.7976931348623158e308", "1.7976931348623159e308")
	s := new(Scanner)
	for _, text := range texts {
		s.Buf = append([]byte(text), make([]byte, SentinelBytes)...)
		s.End = len(text)
		got, next, ok := s.Number(0)
		want, _ := strconv.ParseFloat(text, 64)
		want += 0 // not −0
		if !ok || next != len(text) || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: %v up to %d, %t, want %v", text, got, next, ok, want)
		}
	}
}

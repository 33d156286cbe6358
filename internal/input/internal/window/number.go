package window

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unsafe"
)

// pow10 are the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Number reads a JSON number at i and returns the nearest float64, as
// strconv.ParseFloat does, but for −0, which is read as 0. What is out of range
// becomes ±Inf.
//
// The value of up to 18 digits without exponent is m/10^k. When m ≤ 2^53 both
// are exact, and so is the one rounding of the division.
func (s *Scanner) Number(i int) (x float64, next int, ok bool) {
	b, start := s.Buf, i
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	m, n := upTo8(binary.LittleEndian.Uint64(b[i:]))
	if i += n; n == 8 {
		m, i = digitRun(b, i, m)
	}
	digits, fraction := i-first, 0
	if digits == 0 {
		return 0, 0, s.Fail(i, "expected a digit")
	}
	if digits > 1 && b[first] == '0' {
		return 0, 0, s.Fail(first, "number with a leading zero")
	}
	if b[i] == '.' {
		point := i + 1
		part, n := upTo8(binary.LittleEndian.Uint64(b[point:]))
		m = m*pow10Int[n&15] + part
		if i = point + n; n == 8 {
			m, i = digitRun(b, i, m)
		}
		fraction = i - point
		if fraction == 0 {
			return 0, 0, s.Fail(i, "expected a digit")
		}
		digits += fraction
	}
	if b[i]|0x20 == 'e' {
		if i, ok = s.exponent(i + 1); !ok {
			return 0, 0, false
		}
	} else if digits <= 18 && m <= 1<<53 {
		x = float64(m)
		if fraction > 0 {
			x /= pow10[fraction]
		}
		if negative && m != 0 {
			x = -x
		}
		return x, i, true
	}
	return ParseFloat(b[start:i]), i, true
}

// upTo8 reads the digits that the eight bytes of x, lowest first, start with:
// without a branch, as numbers are of all lengths and a loop over their digits
// would be predicted wrongly once for each.
func upTo8(x uint64) (v uint64, n int) {
	x ^= '0' * Ones // digits become their values
	n = bits.TrailingZeros64(((x+118*Ones)|x)&Highs) >> 3
	x <<= uint(64 - 8*n) // zeros in front fill up to eight digits
	x = x*10 + x>>8
	const pairs = 0x000000ff000000ff
	return ((x&pairs)*(100+1000000<<32) + (x>>16&pairs)*(1+10000<<32)) >> 32, n
}

// pow10Int has sixteen elements so that an index of four bits needs no check.
var pow10Int = [16]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// digitRun reads digits at i as if they stood behind those of m. More than 18
// digits in all overflow.
func digitRun(b []byte, i int, m uint64) (uint64, int) {
	for {
		v, n := upTo8(binary.LittleEndian.Uint64(b[i:]))
		m = m*pow10Int[n&15] + v
		i += n
		if n < 8 {
			return m, i
		}
	}
}

// exponent reads what follows the e of a number.
func (s *Scanner) exponent(i int) (next int, ok bool) {
	b := s.Buf
	if b[i] == '+' || b[i] == '-' {
		i++
	}
	first := i
	for b[i]-'0' <= 9 {
		i++
	}
	if i == first {
		return 0, s.Fail(i, "expected a digit")
	}
	return i, true
}

// ParseFloat is strconv.ParseFloat of a text known to be a decimal number; −0
// becomes 0.
func ParseFloat(text []byte) float64 {
	// The text is not kept: errors carry a copy.
	x, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	if x == 0 {
		return 0
	}
	return x
}

// Digits reads an integer written as digits alone, up to limit < 10^18. next ==
// i when there is none, or it is greater, or more than 18 digits long.
func Digits(b []byte, i int, limit int64) (v int64, next int) {
	m, n := upTo8(binary.LittleEndian.Uint64(b[i:]))
	if next = i + n; n == 8 {
		m, next = digitRun(b, next, m)
	}
	if next-i > 18 || int64(m) > limit {
		return 0, i
	}
	return int64(m), next
}

package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// prefixes of a thousand, a million and so on.
const prefixes = "kMGTPE"

// SI writes a quantity with four significant digits: 12.5, 9,999, 12.35k, 4.2M.
func SI(x float64) string {
	switch {
	case math.Abs(x) < 999.95:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case math.Abs(x) < 9999.5:
		return Integer(int64(math.RoundToEven(x)))
	}
	i := -1
	for ; math.Abs(x) >= 999.95 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + prefixes[i:i+1]
}

// Integer writes a count in groups of three digits: 12,345.
func Integer[T int | int32 | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Exact writes a number with all its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// ID writes the number of an instance.
func ID(n int32) string { return strconv.Itoa(int(n)) }

// Theta writes a relative overload as the options take it: 0.0762.
func Theta(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// Percent writes a fraction: 1.28 %, or 5,775 % where that is much.
func Percent(x float64) string {
	if x >= 10 && x < 1e15 {
		return Integer(int64(math.Round(100*x))) + " %"
	}
	return strconv.FormatFloat(100*x, 'f', 2, 64) + " %"
}

// ErrorText writes how far a figure is off, also when that is very little.
func ErrorText(x float64) string {
	switch {
	case x < 1e-12: // rounding
		return "0 %"
	case x < 1e-3:
		return strconv.FormatFloat(100*x, 'g', 2, 64) + " %"
	}
	return Percent(x)
}

// Duration writes a duration with three significant digits.
func Duration(d time.Duration) string {
	unit, name := time.Microsecond, "µs"
	switch {
	case d == 0 || d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		unit, name = time.Second, "s"
	case d >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	}
	x, digits := float64(d)/float64(unit), 0
	for limit := 99.95; x < limit && digits < 2; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " " + name
}

// DurationCell is a time in a column, whose width is the same however long things take: how a
// table is laid out must not depend on that.
func DurationCell(d time.Duration) string { return fmt.Sprintf("%7s", Duration(d)) }

// Plural is "1 key", "2 keys", "2 entries".
func Plural[T int | int32 | int64](n T, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return "1 " + noun
	case y && !strings.HasSuffix(stem, "e"):
		return Integer(n) + " " + stem + "ies"
	}
	return Integer(n) + " " + noun + "s"
}

// KeyWidth is where keys are cut in tables for people.
const KeyWidth = 48

// KeyText shows a key on one line: what is not printable is escaped, what is
// long is cut.
func KeyText(key []byte) string {
	s := string(key)
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || s == "" || strings.TrimSpace(s) != s {
		s = quoted
	}
	if utf8.RuneCountInString(s) > KeyWidth {
		runes := []rune(s)
		s = string(runes[:KeyWidth-1]) + "…"
	}
	return s
}

package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Share is the value of a flag that is a part of something: 0.05 or 5%. Above 1 it
// needs the sign, so that 5 is not taken for 500% where 5% is meant.
type Share float64

// UnmarshalText reads "0.05", "5%" or "500%". What a negative share or NaN would mean
// is for the rules of the parameter to tell.
func (v *Share) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	number, signed := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsInf(x, 1):
		return fmt.Errorf("%q is not a share: write 5%% or 0.05", s)
	case signed:
		x /= 100
	case x > 1:
		return fmt.Errorf("%s without a sign would be %s: write %s if that is meant, or %s%%", s, PercentFlag(x),
			PercentFlag(x), s)
	}
	*v = Share(x)
	return nil
}

// PercentFlag writes a share as flags take it: 500%.
func PercentFlag(x float64) string { return strconv.FormatFloat(100*x, 'g', 12, 64) + "%" }

// Float is the share as a plain number, nil where it is not given.
func (v *Share) Float() *float64 { return (*float64)(v) }

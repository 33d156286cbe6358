package cli

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// FlagType is the type of that name in the tags of flags, whose text read understands. Of a
// list of such values it reads each.
func FlagType[T any](name string, read func(text string) (T, error)) kong.Option {
	return kong.NamedMapper(name, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		if list, isList := target.Addr().Interface().(*[]T); isList {
			values, err := ParseList(text, read)
			*list = append(*list, values...) // a flag may stand several times
			return err
		}
		value, err := read(text)
		if target.Kind() == reflect.Pointer {
			target = target.Elem()
		}
		target.Set(reflect.ValueOf(value))
		return err
	}))
}

// ParseList reads what commas separate.
func ParseList[T any](text string, parse func(string) (T, error)) (out []T, err error) {
	for part := range strings.SplitSeq(text, ",") {
		one, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// ParseShare reads a part of something: "0.05" or "5%". From 1 on it needs the sign, so that 5 is
// not taken for 500% where 5% is meant. What a negative share or NaN would mean is for the
// rules of the parameter to tell.
func ParseShare(text string) (float64, error) {
	s := strings.TrimSpace(text)
	number, signed := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsInf(x, 1):
		return 0, fmt.Errorf("%q is not a share: write 5%% or 0.05", s)
	case signed:
		x /= 100
	case x >= 1:
		return 0, fmt.Errorf("%s without a percent sign is %s: write %s if you mean that, or %s%%", s, PercentFlag(x),
			PercentFlag(x), s)
	}
	return x, nil
}

// PercentFlag writes a share as flags take it: 500%.
func PercentFlag(x float64) string { return strconv.FormatFloat(100*x, 'g', 12, 64) + "%" }

package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// countVar declares a flag of a whole number from least to 1e8, written like
// 1000000 or 1e6.
func countVar(f *flag.FlagSet, into *int, name string, least, value int, usage string) {
	*into = value
	f.Func(name, fmt.Sprintf("%s (default %d)", usage, value), func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= float64(least) && x <= 1e8) || x != float64(int(x)) {
			return fmt.Errorf("must be a whole number from %d to 1e8", least)
		}
		*into = int(x)
		return nil
	})
}

// countsVar declares a flag of several whole numbers from 1 to 1e8.
func countsVar(f *flag.FlagSet, into *[]int, name string, value []int, usage string) {
	*into = value
	f.Func(name, fmt.Sprintf("%s, comma-separated (default %s)", usage, strings.Trim(fmt.Sprint(value), "[]")),
		func(text string) error {
			*into = nil
			for part := range strings.SplitSeq(text, ",") {
				x, err := strconv.ParseFloat(part, 64)
				if err != nil || !(x >= 1 && x <= 1e8) || x != float64(int(x)) {
					return fmt.Errorf("%q is not a whole number from 1 to 1e8", part)
				}
				*into = append(*into, int(x))
			}
			return nil
		})
}

// choiceVar declares a flag of several words out of those that there are.
func choiceVar(f *flag.FlagSet, into *[]string, name, value string, all []string, usage string) {
	if value != "" {
		*into = strings.Split(value, ",")
	}
	f.Func(name, fmt.Sprintf("%s: %s; comma-separated (default %q)", usage, strings.Join(all, ", "), value),
		func(text string) error {
			*into = strings.Split(text, ",")
			for _, word := range *into {
				if !slices.Contains(all, word) {
					return fmt.Errorf("%q is none of %s", word, strings.Join(all, ", "))
				}
			}
			return nil
		})
}

// sizeVar declares a flag of a number of bytes, such as 256MiB. It is 0 until set.
func sizeVar(f *flag.FlagSet, into *int64, name, usage string) {
	f.Func(name, usage, func(text string) (err error) {
		*into, err = parseSize(text)
		return err
	})
}

// parseSize reads a number of bytes, by itself or with KiB, MiB or GiB.
func parseSize(text string) (int64, error) {
	digits, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = before, bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > 1<<50/unit {
		return 0, fmt.Errorf("%q is no size: write it like 256MiB", text)
	}
	return n * unit, nil
}

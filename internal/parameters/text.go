package parameters

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plannerd/planner"
)

// Parse reads a value as people write it: on the command line, in a query. The error
// says what it must be.
func (p *Parameter) Parse(text string) (any, error) {
	text = strings.TrimSpace(text)
	if p.None != "" && (strings.EqualFold(text, p.None) || text == "null") {
		return nil, nil
	}
	value, err := p.parse(text)
	if err != nil {
		return nil, err
	}
	if detail := p.outside(value); detail != "" {
		return nil, errors.New(detail)
	}
	return value, nil
}

func (p *Parameter) parse(text string) (any, error) {
	wrong := errors.New("must be " + p.Range())
	switch p.Type {
	case Number:
		return parseNumber(text, p.Unit, wrong)
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, wrong
		}
		return n, nil
	case Limit:
		l, ok := parseLimit(text)
		if !ok {
			return nil, wrong
		}
		return l, nil
	case Interval:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, wrong
		}
		return Duration(d), nil
	}
	return text, nil
}

// parseNumber reads a number; 0.05 and 5% are the same share, and from 1 on it needs the sign.
func parseNumber(text string, unit Unit, wrong error) (any, error) {
	digits, signed := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil, math.IsInf(x, 0), signed && unit != Share:
		return nil, wrong
	case signed:
		return x / 100, nil
	case unit == Share && x >= 1:
		return nil, fmt.Errorf("has no sign, and would be %s: write %[1]s if that is meant, or %s%%", percent(x), digits)
	}
	return x, nil
}

// parseLimit reads 5% (of all state), 1200keys or an amount of state, and what a query
// has: fraction:0.05, keys:1200 or state:3e6.
func parseLimit(text string) (l MigrationLimit, ok bool) {
	unit, amount, named := strings.Cut(text, ":")
	scale := 1.0
	if !named {
		unit, amount = string(planner.MigrationState), text
		if digits, ok := strings.CutSuffix(text, "%"); ok {
			unit, amount, scale = string(planner.MigrationFraction), digits, 100
		} else if digits, ok := strings.CutSuffix(text, "keys"); ok {
			unit, amount = string(planner.MigrationKeys), digits
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(amount), 64)
	if x /= scale; err != nil || !(x >= 0 && x <= maxNumber) {
		return l, false
	}
	switch planner.MigrationUnit(unit) {
	case planner.MigrationState:
		l.State = &x
	case planner.MigrationFraction:
		l.Fraction = &x
		return l, x <= 1
	case planner.MigrationKeys:
		n := int64(x)
		l.Keys = &n
		return l, x == math.Trunc(x) && x <= maxInteger
	default:
		return l, false
	}
	return l, true
}

// Text writes a value as Parse reads it.
func (p *Parameter) Text(value any) string {
	switch v := value.(type) {
	case nil:
		return p.None
	case float64:
		if p.Unit == Share && v >= 1 {
			return percent(v)
		}
		return number(v)
	case MigrationLimit:
		switch {
		case v.Fraction != nil:
			return percent(*v.Fraction)
		case v.Keys != nil:
			return strconv.FormatInt(*v.Keys, 10) + "keys"
		}
		return number(*v.State)
	case Duration:
		return time.Duration(v).String()
	}
	return fmt.Sprint(value)
}

// ParseList reads values that commas separate, as flags and queries have those of a
// [Grid]. The error names the value.
func (p *Parameter) ParseList(text string) ([]any, error) {
	var out []any
	for part := range strings.SplitSeq(text, ",") {
		value, err := p.Parse(part)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		out = append(out, value)
	}
	return out, nil
}

// percentDigits is as exact as percents can be written without showing that they are
// fractions.
const percentDigits = 12

func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', percentDigits, 64) + "%"
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

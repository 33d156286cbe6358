package offline

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/planner"
)

// runCurve shows the trade-off of θ against migration, and the strategies beside
// it.
func (c *Compare) runCurve(env *cli.Environment) error {
	if len(c.ScaleTo) > 0 {
		return cli.Usagef("--scale-to: goes without --curve")
	}
	g := c.grid()
	if !slices.Equal(g["objective"], []any{string(planner.MinMigration)}) ||
		!slices.Equal(g["migration_limit"], []any{nil}) {
		return cli.Usagef("--curve: it sets --objective and --migration-limit itself")
	}
	trial, err := c.single("compare --curve", planner.DefaultStrategy)
	if err != nil {
		return err
	}
	beside, err := c.beside(env)
	if err != nil {
		return err
	}
	var drivers []*driver
	var summaries []drive.Summary
	err = c.drive(env, func(in *reading.Input) ([]*driver, error) {
		points, err := c.points(env, in, beside[0])
		drivers = slices.Concat(points, beside)
		summaries = make([]drive.Summary, len(drivers))
		return drivers, err
	}, func(in *reading.Input, i int, s step) {
		summaries[i].Add(s.Step)
		in.Progress.Describe(fmt.Sprintf("interval %d: %d of %d", s.Interval, i+1, len(drivers)))
	})
	if err != nil {
		return err
	}
	n := len(drivers) - len(beside)
	d := comparisonOf(outcomesOf(drivers[n:], summaries[n:]))
	d.Curve = outcomesOf(drivers[:n], summaries[:n])
	for i := range d.Results {
		d.Results[i].besideCurve(d.Curve)
	}
	return env.Output(c.Output, func() any { return d }, func(w *cli.Page) { c.writeCurve(w, trial.Planner(), d) },
		d.csv())
}

// points returns a driver like that of a strategy for each point of the curve.
func (c *Compare) points(env *cli.Environment, in *reading.Input, like *driver) ([]*driver, error) {
	op := like.Operator()
	op.Strategy = planner.Knowing(planner.MinImbalance)[0]
	op.Options.ThetaMax, op.Options.Objective = 0, planner.MinImbalance
	limits := c.Curve.limits
	if limits == nil {
		interval, document, err := in.Next()
		if err != nil {
			return nil, err
		}
		in.Again()
		op.Options.MigrationLimit = &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: 1}
		in.Progress.Describe("looking for the best balance")
		best, err := newDriver(op, like.form, like.needKeys).step(env.Ctx, interval, document)
		if err != nil {
			return nil, &drive.StepError{Interval: interval, Err: err}
		}
		limits = ladder(best.Plan)
	}
	points := make([]*driver, len(limits))
	for i := range limits {
		op.Options.MigrationLimit = &limits[i]
		points[i] = newDriver(op, like.form, like.needKeys)
	}
	return points, nil
}

// Steps is how many limits above 0 the ladder has, each twice the one before.
const Steps = 11

// ladder returns limits from 0 to what the plan moves; to all state when there is
// no plan, or none that moves anything.
func ladder(best *planner.Plan) []planner.MigrationLimit {
	most := 1.0
	if best != nil && best.Migration.Fraction > 0 {
		most = best.Migration.Fraction
	}
	limits := []planner.MigrationLimit{{Unit: planner.MigrationFraction}}
	for i := range Steps {
		limits = append(limits, planner.MigrationLimit{
			Unit: planner.MigrationFraction, Amount: min(1, twoDigits(math.Ldexp(most, i+1-Steps))),
		})
	}
	return limits
}

// twoDigits rounds up to two significant digits.
func twoDigits(x float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(x))) - 1)
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(x/unit*(1-1e-12))*unit, 'e', 1, 64), 64)
	if err != nil {
		return x // impossible: the text is a number
	}
	return rounded
}

// besideCurve notes how far the strategy is off the points of a curve.
func (r *Outcome) besideCurve(curve []Outcome) {
	for _, p := range curve {
		if p.TimedOut || r.TimedOut {
			continue
		}
		if p.Fraction.Median <= r.Fraction.Median {
			r.CurveTheta = least(r.CurveTheta, p.ThetaAfter.Median)
		}
		if p.ThetaAfter.Median <= r.ThetaAfter.Median {
			r.CurveFraction = least(r.CurveFraction, p.Fraction.Median)
		}
	}
}

// least is the smaller of what was found so far, if anything, and x.
func least(soFar *float64, x float64) *float64 {
	if soFar != nil {
		x = min(x, *soFar)
	}
	return &x
}

// writeCurve prints the curve for people.
func (c *Compare) writeCurve(w *cli.Page, options planner.Options, d Comparison) {
	median, total := "", ""
	if d.Curve[0].Intervals > 1 {
		median, total = "median ", "total "
	}
	fmt.Fprintf(w, "%s, %s%s%s: the least θ for the migration that is allowed\n\n",
		cli.Plural(d.Curve[0].Intervals, "interval"), cli.Plural(len(c.Instances), "instance"), limitText(options.TableLimit),
		c.degreeText())
	most := 0.0
	for _, p := range d.Curve {
		most = max(most, p.ThetaAfter.Median)
	}
	bars := barWidth
	if w.Width < cli.PlainWidth {
		bars /= 2
	}
	cli.WriteList(w, d.Curve, "limit right | "+median+"θ after = theta_after/median ?theta | = bar | "+median+
		"at best = bound ?theta | gap = certificates/gap ?percent | "+median+"of all = migrated_fraction/median ?percent | "+
		total+"state = migrated_state/total ?si | "+total+"keys = migrated_keys/total ?si | "+
		median+"table = table_size/median ?si | "+total+"time = plan_ms/total time | = note",
		func(i int) cli.More {
			p := d.Curve[i]
			more := cli.More{"limit": p.limit(), "bound": p.bound(), "bar": "", "note": c.note(p)}
			if p.TimedOut {
				maps.Copy(more, missing)
			} else if most > 0 {
				more["bar"] = strings.Repeat("█", int(math.Round(float64(bars)*p.ThetaAfter.Median/most)))
			}
			return more
		})
	fmt.Fprintf(w, "\nBeside it, θ_max %v\n\n", options.ThetaMax)
	cli.WriteList(w, d.Results, "strategy | "+median+"θ after = theta_after/median ?theta"+
		" | curve, moving no more = curve_theta ?theta | "+median+"of all = migrated_fraction/median ?percent"+
		" | curve, θ no higher = curve_fraction ?percent | "+median+"table = table_size/median ?si | balanced ?right"+
		" | = note",
		func(i int) cli.More {
			r := d.Results[i]
			more := cli.More{"balanced": fmt.Sprintf("%d/%d", r.Balanced, r.Intervals), "note": c.note(r)}
			if r.Planned == 0 {
				maps.Copy(more, missing)
			}
			return more
		})
}

// limit is the migration limit of a point of a curve, as the flag takes it.
func (r *Outcome) limit() string {
	limit := r.Parameters.MigrationLimit.Planner()
	return amountText(limit.Unit, limit.Amount, limitDigits)
}

// bound is the least θ that is proven for a point of a curve. Nil: none is.
func (r *Outcome) bound() *float64 {
	if r.Proven.Plans <= r.Proven.Infeasible {
		return nil
	}
	return &r.Proven.LowerBound.Median
}

// limitDigits is as exact as percents can be written without showing that they
// are fractions.
const limitDigits = 12

// barWidth is the width of the bar of the highest θ; on narrow pages it is half that.
const barWidth = 24

// csv writes the points of the curve, then the strategies.
func (d Comparison) csv() func(io.Writer) error {
	return cli.CsvOf(slices.Concat(d.Curve, d.Results), `series migration_limit timed_out intervals planned theta_after/median
		theta_after/max theta_lower_bound_median gap=certificates/gap migrated_fraction/median
		migrated_state=migrated_state/total migrated_keys=migrated_keys/total table_size/median table_size/max curve_theta
		curve_fraction plan_ms=plan_ms/total`, func(i int) cli.More {
		if i < len(d.Curve) {
			p := d.Curve[i]
			return cli.More{"series": "curve", "migration_limit": p.limit(), "theta_lower_bound_median": p.bound()}
		}
		return cli.More{"series": d.Results[i-len(d.Curve)].Strategy, "migration_limit": "", "theta_lower_bound_median": nil}
	})
}

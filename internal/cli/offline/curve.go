package offline

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
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
	var summaries []summary
	err = c.drive(env, func(in *reading.Input) (reading.Source, []*driver, error) {
		next, points, err := c.points(env, in, beside[0])
		drivers = slices.Concat(points, beside)
		summaries = make([]summary, len(drivers))
		return next, drivers, err
	}, func(in *reading.Input, i int, s step) {
		summaries[i].add(s)
		in.Progress.Describe(fmt.Sprintf("interval %d: %d of %d", s.Interval, i+1, len(drivers)))
	})
	if err != nil {
		return err
	}
	d := c.document(drivers, summaries, len(drivers)-len(beside))
	return env.Output(c.Output, func() any { return d }, func(w *cli.Page) { c.writeCurve(w, trial.Planner(), d) },
		d.csv())
}

// points returns a driver like that of a strategy for each point of the curve, and
// the input as a source.
func (c *Compare) points(env *cli.Environment, in *reading.Input, like *driver) (reading.Source, []*driver, error) {
	op := like.Operator()
	op.Strategy = planner.Knowing(planner.MinImbalance)[0]
	op.Options.ThetaMax, op.Options.Objective = 0, planner.MinImbalance
	next, limits := in.Source(), c.Curve.limits
	if limits == nil {
		interval, document, err := next()
		if err != nil {
			return nil, nil, err
		}
		next = first(interval, document, next)
		op.Options.MigrationLimit = &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: 1}
		in.Progress.Describe("looking for the best balance")
		best, err := newDriver(op, like.form, like.needKeys).step(env.Ctx, interval, document)
		if err != nil {
			return nil, nil, &drive.StepError{Interval: interval, Err: err}
		}
		limits = ladder(best.Plan)
	}
	points := make([]*driver, len(limits))
	for i := range limits {
		op.Options.MigrationLimit = &limits[i]
		points[i] = newDriver(op, like.form, like.needKeys)
	}
	return next, points, nil
}

// first puts an interval that was read already in front of a source.
func first(interval int64, document *input.Document, rest reading.Source) reading.Source {
	return func() (int64, *input.Document, error) {
		if document == nil {
			return rest()
		}
		d := document
		document = nil
		return interval, d, nil
	}
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

// CurveDocument is the JSON document of compare --curve.
type CurveDocument struct {
	Parameters      planParameters  `json:"parameters"` // of the strategies
	PlannerRevision string          `json:"planner_revision"`
	Curve           []curvePoint    `json:"curve"`
	Results         []besideFigures `json:"results"`
}

// curvePoint is what strategy optimal reaches under one migration limit. Its
// bounds are on θ.
type curvePoint struct {
	Limit    *parameters.MigrationLimit `json:"migration_limit"`
	TimedOut bool                       `json:"timed_out"`
	StreamSummary
	limit planner.MigrationLimit
}

// besideFigures are a strategy, and how far it is off the curve.
type besideFigures struct {
	StrategyFigures
	// CurveTheta is the least θ of the points that move no more than the strategy,
	// CurveFraction the least share of all state that those of no greater θ move:
	// medians, null when there are no such points.
	CurveTheta    *float64 `json:"curve_theta"`
	CurveFraction *float64 `json:"curve_fraction"`
}

// document gathers the figures; the first n drivers are the points of the curve.
func (c *Compare) document(drivers []*driver, summaries []summary, n int) CurveDocument {
	d := CurveDocument{Parameters: parametersOf(drivers[n].Operator().Options), PlannerRevision: planner.Revision}
	for i := range n {
		limit := *drivers[i].Operator().Options.MigrationLimit
		d.Curve = append(d.Curve, curvePoint{parameters.Of(planner.Options{MigrationLimit: &limit}).MigrationLimit,
			summaries[i].Planned < summaries[i].Intervals, summaryOf(&summaries[i]), limit})
	}
	for _, r := range compareRows(drivers[n:], summaries[n:]) {
		b := besideFigures{StrategyFigures: r}
		for _, p := range d.Curve {
			if p.TimedOut || r.TimedOut {
				continue
			}
			if p.Fraction.Median <= r.Fraction.Median {
				b.CurveTheta = least(b.CurveTheta, p.ThetaAfter.Median)
			}
			if p.ThetaAfter.Median <= r.ThetaAfter.Median {
				b.CurveFraction = least(b.CurveFraction, p.Fraction.Median)
			}
		}
		d.Results = append(d.Results, b)
	}
	return d
}

// least is the smaller of what was found so far, if anything, and x.
func least(soFar *float64, x float64) *float64 {
	if soFar != nil {
		x = min(x, *soFar)
	}
	return &x
}

// writeCurve prints the curve for people.
func (c *Compare) writeCurve(w *cli.Page, options planner.Options, d CurveDocument) {
	median, total := "", ""
	if intervals := d.Curve[0].Intervals; intervals > 1 {
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
	var rows [][]string
	for _, p := range d.Curve {
		rows = append(rows, c.pointRow(p, most, bars))
	}
	cli.WriteTable(w, []cli.Column{
		cli.Number("limit"), cli.Number(median + "θ after"), cli.Text(""), cli.Number(median + "at best"), cli.Number("gap"),
		cli.Number(median + "of all"),
		cli.Number(total + "state"), cli.Number(total + "keys"), cli.Number(median + "table"), cli.Number(total +
			"time"), cli.Text(""),
	}, rows)
	fmt.Fprintf(w, "\nBeside it, θ_max %v\n\n", options.ThetaMax)
	rows = nil
	for _, r := range d.Results {
		rows = append(rows, c.besideRow(r))
	}
	cli.WriteTable(w, []cli.Column{
		cli.Text("strategy"), cli.Number(median + "θ after"), cli.Number("curve, moving no more"),
		cli.Number(median + "of all"), cli.Number("curve, θ no higher"), cli.Number(median +
			"table"), cli.Number("balanced"), cli.Text(""),
	}, rows)
}

// limitDigits is as exact as percents can be written without showing that they
// are fractions.
const limitDigits = 12

// barWidth is the width of the bar of the highest θ; on narrow pages it is half that.
const barWidth = 24

func (c *Compare) pointRow(p curvePoint, most float64, bars int) []string {
	limit := amountText(p.limit.Unit, p.limit.Amount, limitDigits)
	if p.TimedOut {
		return []string{limit, "-", "", "-", "-", "-", "-", "-", "-", milli(p.PlanMS.Total),
			c.note(StrategyFigures{TimedOut: true, StreamSummary: p.StreamSummary})}
	}
	bar := ""
	if most > 0 {
		bar = strings.Repeat("█", int(math.Round(float64(bars)*p.ThetaAfter.Median/most)))
	}
	bound := "-"
	if p.Proven.Plans > p.Proven.Infeasible {
		bound = cli.Theta(p.Proven.LowerBound.Median)
	}
	return []string{
		limit, cli.Theta(p.ThetaAfter.Median), bar, bound, gapText(p.Proven.Gap), cli.Percent(p.Fraction.Median),
		cli.SI(p.State.Total), cli.SI(p.Keys.Total), cli.SI(p.Table.Median), milli(p.PlanMS.Total),
		c.note(StrategyFigures{StreamSummary: p.StreamSummary}),
	}
}

func (c *Compare) besideRow(r besideFigures) []string {
	if r.Planned == 0 {
		return []string{r.Strategy, "-", "-", "-", "-", "-", "-", c.note(r.StrategyFigures)}
	}
	dash := func(x *float64, write func(float64) string) string {
		if x == nil {
			return "-"
		}
		return write(*x)
	}
	return []string{
		r.Strategy, cli.Theta(r.ThetaAfter.Median), dash(r.CurveTheta, cli.Theta), cli.Percent(r.Fraction.Median),
		dash(r.CurveFraction, cli.Percent),
		cli.SI(r.Table.Median), fmt.Sprintf("%d/%d", r.Balanced, r.Intervals), c.note(r.StrategyFigures),
	}
}

// curveRow is a point of the curve or a strategy, in CSV.
type curveRow struct {
	Series   string `json:"series"`
	Limit    string `json:"migration_limit"`
	TimedOut bool   `json:"timed_out"`
	StreamSummary
	CurveBound    *float64 `json:"theta_lower_bound_median"`
	CurveTheta    *float64 `json:"curve_theta"`
	CurveFraction *float64 `json:"curve_fraction"`
}

// csv writes the points of the curve, then the strategies.
func (d CurveDocument) csv() func(io.Writer) error {
	var rows []curveRow
	for _, p := range d.Curve {
		row := curveRow{"curve", amountText(p.limit.Unit, p.limit.Amount, limitDigits), p.TimedOut, p.StreamSummary, nil,
			nil, nil}
		if p.Proven.Plans > p.Proven.Infeasible {
			row.CurveBound = &p.Proven.LowerBound.Median
		}
		rows = append(rows, row)
	}
	for _, r := range d.Results {
		rows = append(rows, curveRow{r.Strategy, "", r.TimedOut, r.StreamSummary, nil, r.CurveTheta, r.CurveFraction})
	}
	return cli.CsvOf(rows, `series migration_limit timed_out intervals planned theta_after/median theta_after/max
		theta_lower_bound_median gap=certificates/gap migrated_fraction/median migrated_state=migrated_state/total
		migrated_keys=migrated_keys/total
		table_size/median table_size/max curve_theta curve_fraction plan_ms=plan_ms/total`)
}

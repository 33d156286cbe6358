package backtesting

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/backtest"
	"plannerd/internal/cli"
	"plannerd/planner/policy"
)

// write prints the results for people.
func (c *Backtest) write(w *cli.Page, r *backtest.Report) {
	chosen := ""
	if n := r.Baseline.Tuning.Intervals; n > 0 {
		chosen = fmt.Sprintf("chosen by %d, ", n)
	}
	fmt.Fprintf(w, "%s, %s, θ_max %s, %sjudged on the last %d\n\n", cli.Plural(r.Intervals, "interval"),
		cli.Plural(len(c.Instances), "instance"), cli.Exact(r.ThetaMax), chosen, r.Baseline.Judged.Intervals)
	columns := []cli.Column{cli.Text(""), cli.Naming(cli.Text("forecast")), cli.Naming(cli.Number("target")),
		cli.Number("above θ_max"),
		cli.Number("median θ"), cli.Number("p95"), cli.Number("mean excess"), cli.Number("moved"), cli.Number("bound"),
		cli.Number("found"),
		cli.Number("returned"), cli.Number("plans"), cli.Number("table")}
	rows := [][]string{backtestRow("", "mixed on last", r.ThetaMax, r.Baseline)}
	for i, result := range r.Results {
		mark := ""
		if result.Pareto {
			mark = "*"
		}
		if r.Recommended != nil && *r.Recommended == i {
			mark = "=>" + mark
		}
		p := result.Policy
		rows = append(rows, backtestRow(mark, forecastText(p.Forecast), *p.TargetTheta, result))
	}
	cli.WriteTable(w, columns, rows)
	fmt.Fprint(w, "\n* on the Pareto front of moved state and mean excess over θ_max\n\n")
	if r.Recommended != nil {
		chosen := r.Results[*r.Recommended].Policy
		fmt.Fprintf(w, "Recommended: %s, planned to θ %s: %s.\n", forecastText(chosen.Forecast),
			cli.Theta(*chosen.TargetTheta),
			r.Reason)
		if pinned, err := json.Marshal(chosen); err == nil {
			fmt.Fprintf(w, "As a policy: %s\n", pinned)
		}
	} else {
		fmt.Fprintf(w, "No policy is recommended: %s.\n", r.Reason)
	}
	if f := r.Floor; f != nil {
		fmt.Fprintf(w, "\n%s\n", floorText(f.Median, f.P95, r.ThetaMax))
	}
}

// often is the part of the intervals in which a θ_max has to be kept to be called so.
const often = 0.95

// writeBeside prints a line for each θ_max.
func (c *Backtest) writeBeside(w *cli.Page, reports []*backtest.Report) {
	first := reports[0]
	fmt.Fprintf(w, "%s, %s, policies judged on the last %d\n\n", cli.Plural(first.Intervals, "interval"),
		cli.Plural(len(c.Instances), "instance"), first.Baseline.Judged.Intervals)
	columns := []cli.Column{cli.Naming(cli.Number("θ_max")), cli.Text("recommended"), cli.Number("target"),
		cli.Number("above θ_max"),
		cli.Number("median θ"), cli.Number("p95"), cli.Number("moved"), cli.Number("mixed: above"), cli.Number("median θ"),
		cli.Number("moved"),
		cli.Number("noise floor")}
	var rows [][]string
	var kept *backtest.Report
	for _, r := range reports {
		row := append([]string{cli.Exact(r.ThetaMax)}, slices.Repeat([]string{"-"}, len(columns)-1)...)
		if f := r.Floor; f != nil {
			row[10] = cli.Theta(f.Median)
		}
		if i := r.Recommended; i != nil {
			p, f, base := r.Results[*i].Policy, r.Results[*i].Judged, r.Baseline.Judged
			copy(row[1:], []string{forecastText(p.Forecast), cli.Theta(*p.TargetTheta), cli.Percent(f.Above),
				cli.Theta(f.Median),
				cli.Theta(f.P95), cli.Percent(f.Moved), cli.Percent(base.Above), cli.Theta(base.Median), cli.Percent(base.Moved)})
			if f.Above <= 1-often && (kept == nil || r.ThetaMax < kept.ThetaMax) {
				kept = r
			}
		}
		rows = append(rows, row)
	}
	cli.WriteTable(w, columns, rows)
	fmt.Fprintf(w, "\nThe noise floor is the median θ that would remain if all expected loads were even.\n\n")
	switch {
	case first.Recommended == nil:
		fmt.Fprintf(w, "No policy is recommended: %s.\n", first.Reason)
	case kept == nil:
		fmt.Fprintf(w, "None of these θ_max was kept in %s of the intervals: a greater one, fewer instances or longer "+
			"intervals may be.\n", cli.PercentFlag(often))
	default:
		fmt.Fprintf(w, "The least θ_max that was kept in %s of the intervals is %s.\n", cli.PercentFlag(often),
			cli.Exact(kept.ThetaMax))
		chosen := struct {
			ThetaMax float64       `json:"theta_max"`
			Policy   policy.Policy `json:"policy"`
		}{kept.ThetaMax, kept.Results[*kept.Recommended].Policy}
		if members, err := json.Marshal(chosen); err == nil {
			fmt.Fprintf(w, "As a configuration: %s\n", members)
		}
	}
}

// floorText says what no plan can do anything about.
func floorText(median, p95, thetaMax float64) string {
	text := fmt.Sprintf("Noise floor: a median θ of %s and a p95 of %s would remain if all expected loads were even.",
		cli.Theta(median), cli.Theta(p95))
	switch {
	case median > thetaMax:
		return text + " θ_max is below it: moving keys cannot hold it; longer intervals or fewer instances can."
	case p95 > thetaMax:
		return text + " θ_max is below its p95: it will be broken now and then, whatever moves."
	}
	return text
}

// backtestRow is the line of a policy.
func backtestRow(mark, forecast string, target float64, r backtest.Result) []string {
	f := r.Judged
	if f.Intervals == 0 {
		return append([]string{mark, forecast, cli.Theta(target)}, slices.Repeat([]string{"-"}, 10)...)
	}
	bound, found := "-", "-"
	if h := r.Hindsight; h != nil {
		bound = cli.Percent(h.Bound)
		if h.Found != nil {
			found = cli.Percent(*h.Found)
		}
	}
	return []string{mark, forecast, cli.Theta(target), cli.Percent(f.Above), cli.Theta(f.Median), cli.Theta(f.P95),
		cli.Theta(f.Excess),
		cli.Percent(f.Moved), bound, found, cli.Percent(f.Returned), cli.Integer(f.Plans), cli.Integer(f.Table)}
}

// backtestLine is a result in CSV.
type backtestLine struct {
	backtest.Result
	Recommended bool    `json:"recommended"`
	ThetaMax    float64 `json:"theta_max"`
}

func writeBacktestCSV(w io.Writer, reports []*backtest.Report) error {
	var lines []backtestLine
	for _, r := range reports {
		lines = append(lines, backtestLine{Result: r.Baseline, ThetaMax: r.ThetaMax})
		for i, result := range r.Results {
			lines = append(lines, backtestLine{result, r.Recommended != nil && *r.Recommended == i, r.ThetaMax})
		}
	}
	figures := strings.Fields("intervals above theta_median theta_p95 excess moved returned plans table")
	return cli.CsvOf(lines, "strategy forecast=policy/forecast/method alpha=policy/forecast/alpha "+
		"period=policy/forecast/period target_theta=policy/target_theta recommended pareto"+
		" tuning/"+strings.Join(figures, " tuning/")+" judged/"+strings.Join(figures, " judged/")+
		" hindsight/bound hindsight/found theta_max")(w)
}

package backtesting

import (
	"fmt"
	"io"
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
	results, more := resultsOf(r)
	cli.WriteList(w, results, "= mark | forecast* = by | target* = target ?theta | benefit = benefit ?theta"+
		" | above θ_max = judged/above ?percent | median θ = judged/theta_median ?theta | p95 = judged/theta_p95 ?theta"+
		" | mean excess = judged/excess ?theta | cost = cost ?theta"+
		" | moved = judged/moved ?percent | bound = hindsight/bound ?percent | found = hindsight/found ?percent"+
		" | plans = judged/plans ?count | table = judged/table ?count", more)
	fmt.Fprint(w, "\n* on the Pareto front of moved state and mean excess over θ_max\n\n")
	if r.Recommended != nil {
		chosen := r.Results[*r.Recommended].Policy
		fmt.Fprintf(w, "Recommended: %s: %s.\n", policyText(chosen), r.Reason)
		if next := r.Results[r.Auto.Next].Policy; r.Auto.Next != *r.Recommended {
			fmt.Fprintf(w, "By all intervals auto would go on with %s.\n", policyText(next))
			chosen = next
		}
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
	var kept *backtest.Report
	for _, r := range reports {
		i := r.Recommended
		if i != nil && r.Results[*i].Judged.Above <= 1-often && (kept == nil || r.ThetaMax < kept.ThetaMax) {
			kept = r
		}
	}
	cli.WriteList(w, reports, "θ_max* = theta_max exact | recommended = by ? | target = best/policy/target_theta ?theta"+
		" | above θ_max = best/judged/above ?percent | median θ = best/judged/theta_median ?theta"+
		" | p95 = best/judged/theta_p95 ?theta | moved = best/judged/moved ?percent | mixed: above = mixed/above ?percent"+
		" | median θ = mixed/theta_median ?theta | moved = mixed/moved ?percent | noise floor = noise_floor/median ?theta",
		func(i int) cli.More {
			r := reports[i]
			if r.Recommended == nil {
				return cli.More{"by": nil, "best": nil, "mixed": nil}
			}
			best := &r.Results[*r.Recommended]
			return cli.More{"by": forecastText(best.Policy.Forecast), "best": best, "mixed": &r.Baseline.Judged}
		})
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

// policyText names a policy.
func policyText(p policy.Policy) string {
	return fmt.Sprintf("%s, planned to θ %s for a benefit of %s", forecastText(p.Forecast), cli.Theta(*p.TargetTheta),
		cli.Theta(p.MinimumBenefit))
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

// resultsOf are the results of a backtest, that of mixed on the last interval first, and what
// a line says of each beside its figures.
func resultsOf(r *backtest.Report) (results []backtest.Result, more func(result int) cli.More) {
	results = append([]backtest.Result{r.Baseline}, r.Results...)
	if r.Auto != nil {
		results = append(results, backtest.Result{Judged: r.Auto.Judged, Cost: r.Auto.Cost})
	}
	return results, func(i int) cli.More {
		more := cli.More{"mark": "", "by": "mixed on last", "target": r.ThetaMax, "benefit": nil,
			"judged": &results[i].Judged}
		if results[i].Judged.Intervals == 0 {
			more["judged"] = nil
		}
		if i > len(r.Results) {
			more["by"], more["target"] = "auto", nil
		}
		if i == 0 || i > len(r.Results) {
			return more
		}
		p, mark := results[i].Policy, ""
		if r.Recommended != nil && *r.Recommended == i-1 {
			mark = "=>"
		}
		if results[i].Pareto {
			mark += "*"
		}
		more["mark"], more["by"], more["target"], more["benefit"] = mark, forecastText(p.Forecast), *p.TargetTheta,
			p.MinimumBenefit
		return more
	}
}

func backtestCSV(reports []*backtest.Report) func(io.Writer) error {
	var results []backtest.Result
	var beside []cli.More
	for _, r := range reports {
		for i, result := range append([]backtest.Result{r.Baseline}, r.Results...) {
			results = append(results, result)
			beside = append(beside,
				cli.More{"theta_max": r.ThetaMax, "recommended": r.Recommended != nil && *r.Recommended == i-1})
		}
	}
	figures := strings.Fields("intervals above theta_median theta_p95 excess moved returned plans table")
	return cli.CsvOf(results, "strategy forecast=policy/forecast/method alpha=policy/forecast/alpha "+
		"period=policy/forecast/period target_theta=policy/target_theta "+
		"minimum_benefit=policy/minimum_benefit recommended pareto"+
		" tuning/"+strings.Join(figures, " tuning/")+" judged/"+strings.Join(figures, " judged/")+
		" cost hindsight/bound hindsight/found theta_max", func(i int) cli.More { return beside[i] })
}

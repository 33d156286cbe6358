package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"

	"plannerd/planner"
)

// variant is how much work a strategy that reads the effort may do.
type variant struct {
	name   string
	effort planner.Effort
	budget int64 // in work units; 0: none
}

// attempt is one run of a strategy on a case.
type attempt struct {
	label, strategy string
	level           planner.CertificateLevel
	variant
}

// workFlags are the flags about how much work optimal may do, and what that comes to.
func (c *config) workFlags(flags *flag.FlagSet) (efforts *list[string], budgets *list[int64]) {
	e, b := newList(parseString), newList(parseInt64)
	flags.Var(&e, "effort", "efforts of optimal, e.g. fast,thorough; the last one is judged, and of several the gap "+
		"is shown against the work (default normal)")
	flags.Var(&b, "budgets", "work budgets of optimal, e.g. 1e4,1e6, beside these efforts (default none)")
	flags.StringVar(&c.figure, "figure", "", "draw the gap against the work in this file, an SVG")
	flags.Float64Var(&c.above, "above", 0, "put only cases to the MILP solver, and list them, in which optimal moves "+
		"more than so many times what is proven, e.g. 1.15; exit status 4 if the solver finds a better plan")
	return &e, &b
}

// chooseVariants makes a variant of each work budget, under the greatest effort, and of
// each effort. The last one is judged.
func (c *config) chooseVariants(efforts []string, budgets []int64) error {
	if len(efforts) == 0 {
		efforts = []string{string(planner.EffortNormal)}
	}
	for _, n := range budgets {
		c.variants = append(c.variants, variant{fmt.Sprintf("%d units", n), planner.EffortThorough, n})
	}
	for _, name := range efforts {
		if err := (planner.Options{Effort: planner.Effort(name)}).Validate(); err != nil {
			return fmt.Errorf("-effort %s: %w", name, err)
		}
		c.variants = append(c.variants, variant{name: name, effort: planner.Effort(name)})
	}
	if c.above != 0 && (c.milp == 0 || c.above < 1) {
		return errors.New("-above: want a ratio of 1 or more, and -milp")
	}
	if c.figure != "" && len(c.variants) < 2 {
		return errors.New("-figure: want several efforts or budgets")
	}
	return nil
}

// attempts are those of a strategy at each case: one of each variant, if it reads the
// effort.
func (c *config) attempts(strategy string) []attempt {
	one := attempt{label: strategy, strategy: strategy, level: planner.CertificateFast}
	if info, _ := planner.Lookup(strategy); !info.DependsOn("effort") {
		return []attempt{one}
	}
	var all []attempt
	for _, v := range c.variants {
		a := one
		a.variant = v
		if len(c.variants) > 1 {
			a.label += "/" + v.name
		}
		all = append(all, a)
	}
	return all
}

// last is the attempt of a strategy that counts: its plan is carried on, and held against
// the bound.
func (c *config) last(strategy string) attempt {
	all := c.attempts(strategy)
	return all[len(all)-1]
}

// judged is the label of what is held against the bound.
func (c *config) judged() string {
	if !slices.Contains(c.strategies, referenceStrategy) {
		return reference
	}
	return c.last(referenceStrategy).label
}

// wide is the ratio above which a gap counts as wide.
const wide = 1.15

// gap is what a variant comes to over many cases: percentiles of the ratio, and the mean
// of the work.
type gap struct {
	label                    string
	cases, missed            int
	median, p90, p95, worst  float64
	wide                     float64 // share of the cases with a ratio above
	work                     float64 // units
	secondsHalf, secondsMost float64 // median and p95
}

// gaps are those of all variants over the cases that have something to do, by their work.
func (s *suite) gaps() []gap {
	var out []gap
	for _, a := range s.attempts(referenceStrategy) {
		t := tally{strategy: a.label}
		for i := range s.records {
			if x := &s.records[i]; !x.settled && x.class == classFeasible {
				t.add(x, s.limit)
			}
		}
		if t.tried == 0 {
			continue
		}
		g := gap{
			label: a.name, cases: t.tried, missed: t.missed, work: t.work / float64(t.tried),
			median: percentile(t.ratios, 50), p90: percentile(t.ratios, 90), p95: percentile(t.ratios, 95),
			worst:       percentile(t.ratios, 100),
			secondsHalf: percentile(t.seconds, 50), secondsMost: percentile(t.seconds, 95),
		}
		for _, ratio := range t.ratios {
			if ratio > wide {
				g.wide += 1 / float64(len(t.ratios))
			}
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b gap) int { return cmp.Compare(a.work, b.work) })
	return out
}

// gapAgainstWork is a table of what more work is worth.
func (r *report) gapAgainstWork() {
	if len(r.variants) < 2 || !slices.Contains(r.strategies, referenceStrategy) {
		return
	}
	r.printf("## Gap against work\n\n`%s`, over the feasible cases with something to do. Work is the mean in work "+
		"units.\n\n", referenceStrategy)
	r.printf("| effort | cases | missed | ratio median | p90 | p95 | worst | above %g | work | time median | p95 |\n",
		wide)
	r.printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, g := range r.gaps() {
		r.printf("| %s | %d | %d | %s | %s | %s | %s | %.1f %% | %.0f | %s | %s |\n", g.label, g.cases, g.missed,
			figure(g.median, "%.3f"), figure(g.p90, "%.3f"), figure(g.p95, "%.3f"), figure(g.worst, "%.3f"),
			100*g.wide, g.work, seconds(g.secondsHalf), seconds(g.secondsMost))
	}
	r.printf("\n")
}

// alike is by how much the objective may differ when keys have other names.
const alike = 0.02

// disturbances tells how the objective changes when keys have other names or idle ones are added.
func (r *report) disturbances() {
	if !r.disturb {
		return
	}
	r.printf("## Disturbances\n\n`%s` on the same cases of families, disturbed, where there is something to do and both "+
		"plans keep to all limits.\n\n", r.judged())
	r.printf("| | cases | same objective | within %g %% | greatest change | only one keeps to all limits |\n", 100*alike)
	r.printf("|---|--:|--:|--:|--:|--:|\n")
	for _, label := range []string{renamed, withIdle} {
		n, same, within, one, greatest := 0, 0, 0, 0, 0.0
		for i := range r.records {
			x, y := r.records[i].of(r.judged()), r.records[i].of(label)
			if r.records[i].settled || x == nil || y == nil {
				continue
			}
			if x.meets != y.meets {
				one++
			}
			if !x.meets || !y.meets {
				continue
			}
			change := math.Abs(y.objective - x.objective)
			if least := min(x.objective, y.objective); change > 0 {
				change /= least
			}
			n++
			if change == 0 {
				same++
			}
			if change <= alike {
				within++
			}
			greatest = max(greatest, change)
		}
		r.printf("| %s | %d | %d | %.1f %% | %.3g %% | %d |\n", label, n, same, 100*float64(within)/float64(max(n, 1)),
			100*greatest, one)
	}
	r.printf("\n")
}

// exceeds reports whether a case calls for the solver: the plan that is judged is above
// the ratio, or meets not every limit although some plan may.
func (s *suite) exceeds(r *record) bool {
	x := r.of(s.judged())
	if x == nil || r.settled || r.class == classInfeasible {
		return false
	}
	ratio, ok := r.ratio(x)
	return !ok || ratio > s.above
}

// outdone reports whether the solver found a better plan than the one that is judged.
func (s *suite) outdone(r *record) bool {
	x, y := r.of(s.judged()), r.of(solver)
	if y == nil || !y.planned() || !y.meets {
		return false
	}
	return !x.planned() || !x.meets || y.objective < x.objective*(1-solverTolerance)
}

// outdones is how many cases above the ratio have a plan that is better than the one
// judged.
func (s *suite) outdones() (n int) {
	for i := range s.records {
		if x := &s.records[i]; x.exceeding > 0 && s.outdone(x) {
			n++
		}
	}
	return n
}

// solverWords say what the solver came to.
var solverWords = map[status]string{
	statusCompleted: "optimal", statusStopped: "feasible", statusNoPlan: "no plan", statusProvenNone: "infeasible",
}

// aboveRatio lists the cases that were put to the solver because their plan is above
// the ratio.
func (r *report) aboveRatio() {
	if r.above == 0 {
		return
	}
	var all []*record
	for i := range r.records {
		if r.records[i].exceeding > 0 {
			all = append(all, &r.records[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *record) int { return cmp.Compare(b.exceeding, a.exceeding) })
	r.printf("## Above %g\n\n`%s` is above %g times what is proven in %d cases. In %d of them the solver finds a better "+
		"plan within %s.\n\n", r.above, r.judged(), r.above, len(all), r.outdones(), r.milp)
	if len(all) == 0 {
		return
	}
	r.printf("| case | keys | objective | bound | ratio | solver | its objective | its bound | its time | better |\n")
	r.printf("|---|--:|--:|--:|--:|---|--:|--:|--:|---|\n")
	for _, x := range all {
		r.printf("| `%s` | %d | %s | %s |\n", x.name, x.keys, r.judgedCells(x), r.solverCells(x))
	}
	r.printf("\n")
}

func (r *report) judgedCells(x *record) string {
	plan := x.of(r.judged())
	objective := "none"
	if plan.planned() && plan.meets {
		objective = fmt.Sprintf("%.6g", plan.objective)
	}
	return fmt.Sprintf("%s | %.6g | %s", objective, x.proven, figure(x.exceeding, "%.3f"))
}

func (r *report) solverCells(x *record) string {
	answer := x.of(solver)
	if answer == nil {
		return "too many keys | – | – | – | –"
	}
	objective, better := math.NaN(), "no"
	if answer.planned() {
		objective = answer.objective
	}
	if r.outdone(x) {
		better = "yes"
	}
	return strings.Join([]string{solverWords[answer.status], figure(objective, "%.6g"),
		fmt.Sprintf("%.6g", answer.bound), seconds(answer.elapsed.Seconds()), better}, " | ")
}

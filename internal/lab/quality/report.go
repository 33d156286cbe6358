package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/lab/measure"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// report writes what a suite found as Markdown.
type report struct {
	*suite
	yardstick time.Duration
	elapsed   time.Duration
	w         io.Writer
	err       error // the first that w returned
}

func (r *report) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format, args...)
	}
}

func (r *report) write() error {
	r.preamble()
	var grid, streams, families []*record
	for i := range r.records {
		switch x := &r.records[i]; {
		case x.setting.Family != "":
			families = append(families, x)
		case x.setting.Stream != "":
			streams = append(streams, x)
		default:
			grid = append(grid, x)
		}
	}
	r.section("Grid", grid, gridSlices)
	r.section("Streams", streams, streamSlices)
	r.section("Families", families, familySlices)
	r.gapAgainstWork()
	r.disturbances()
	r.refuted()
	r.aboveRatio()
	r.worst()
	return r.err
}

// preamble says what was measured, and how to read it.
func (r *report) preamble() {
	r.printf("# Quality of plans\n\n")
	if r.ctx.Err() != nil {
		r.printf("**Interrupted: these are the cases until then.**\n\n")
	}
	r.printf("Planner revision %s, %s, %d cases of %d settings in %s. Sorting a million random `float64` takes %s "+
		"(median of %d): the yardstick of the times, each of which is one `planner.Run`, alone, certificate included.\n\n",
		planner.Revision, runtime.Version(), len(r.records), len(r.settings), r.elapsed.Round(time.Second),
		seconds(r.yardstick.Seconds()), r.yardsticks)
	r.printf("- The grid is Zipf z = 0.85, hash ring, %d measured intervals of each setting (%d from a million keys "+
		"on). Before them come w that are planned alike: they fill the window of the state and give the routing table a "+
		"start. Keys swap frequencies relative to where they are, plans applied. Streams are measured as recorded, from "+
		"their first interval and an empty table.\n", r.intervals, min(r.intervals, r.largeIntervals))
	r.printf("- Each interval is put to every strategy on the same statistics and the same routing table. The plan of "+
		"`%s` is then carried on.\n", r.commit)
	r.printf("- `%s` is the same strategy with certificate level tight; the others prove at level fast.\n", reference)
	r.printf("- Effort of `%s`: %s; that of `%[1]s/tight` is the last.\n", referenceStrategy, r.effortText())
	if r.ablate {
		r.printf("- *without …* is strategy `%s` with one of its components left out.\n", planner.Optimal)
	}
	r.printf("- Ratio: objective over the case's best proven lower bound, of all certificates, over feasible cases. A " +
		"plan that violates a constraint, or none, is ∞. 1 when the objective is 0; *bound 0* counts the plans that move " +
		"state where nothing better than 0 is proven, which are in no percentile.\n")
	r.printf("- Feasible: some plan meets every constraint (each load ≤ b_d, table ≤ A_max); infeasible: a certificate " +
		"proves that none does. *meets*: plans that do; *missed*: feasible cases without one.\n")
	r.printf("- *own bound*: the strategy's bound relative to the best one. Percentiles are nearest-rank.\n")
	if r.settled {
		r.printf("- Cases with nothing to do count.\n")
	} else {
		r.printf("- Cases with nothing to do, where every strategy answers the same at once, are counted as settled and " +
			"are in no figure.\n")
	}
	r.printf("- Time limit of a plan: %s; *stopped* counts those that it cut short, *late* those that took more than "+
		"one and a half times as long, be it to plan or to prove. Larger snapshots skipped: %s.\n", r.limit, r.skipText())
	if r.milp > 0 {
		r.printf("- `%s`: the solver of mixed integer linear programs, up to %d keys and %s for each case. Its bounds and "+
			"plans count as any other's, its bounds less its own tolerance.\n", solver, r.milpKeys, r.config.milp)
	}
	if r.unreachable > 0 {
		r.printf("- %d intervals of the grid do not exist: no swap of frequencies reaches the fluctuation there.\n",
			r.unreachable)
	}
	r.printf("\n")
}

func (r *report) effortText() string {
	names := make([]string, len(r.variants))
	for i, v := range r.variants {
		names[i] = v.name
	}
	return strings.Join(names, ", ")
}

func (r *report) skipText() string {
	var parts []string
	for _, s := range r.strategies {
		if n, ok := r.maxKeys[s]; ok {
			parts = append(parts, "`"+s+"` above "+strconv.Itoa(n)+" keys")
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// A slicing splits the cases by one parameter.
type slicing struct {
	name string
	of   func(cases.Setting) string
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

var (
	byInstances = slicing{"N_D", func(s cases.Setting) string { return strconv.Itoa(s.Instances) }}
	byTheta     = slicing{"θ_max", func(s cases.Setting) string { return number(s.ThetaMax) }}
	byTable     = slicing{"A_max", func(s cases.Setting) string { return strconv.FormatInt(s.TableLimit, 10) }}

	gridSlices = []slicing{
		{"K", func(s cases.Setting) string { return strconv.Itoa(s.Keys) }},
		byInstances, byTheta, byTable,
		{"w", func(s cases.Setting) string { return strconv.Itoa(s.Window) }},
		{"f", func(s cases.Setting) string { return number(s.Fluctuation) }},
	}
	familySlices = []slicing{
		{"family", func(s cases.Setting) string { return string(s.Family) }}, byTheta,
	}
	streamSlices = []slicing{
		byInstances, byTheta, byTable,
		{"stream", func(s cases.Setting) string { return s.Stream }},
	}
)

// section writes the tables of all the cases of a kind and of each slice.
func (r *report) section(title string, records []*record, slicings []slicing) {
	if len(records) == 0 {
		return
	}
	r.printf("## %s\n\n", title)
	r.table("overall", records)
	for _, by := range slicings {
		var values []string
		groups := make(map[string][]*record)
		for _, x := range records {
			v := by.of(x.setting)
			if groups[v] == nil {
				values = append(values, v)
			}
			groups[v] = append(groups[v], x)
		}
		if len(values) == 1 && by.name != "stream" {
			continue // the same as overall
		}
		for _, v := range values {
			r.table(by.name+" = "+v, groups[v])
		}
	}
}

// labels are the names of the rows of a table.
func (s *suite) labels() []string {
	var labels []string
	for _, name := range s.strategies {
		for _, a := range s.attempts(name) {
			labels = append(labels, a.label)
		}
	}
	labels = append(labels, reference)
	if s.ablate {
		for _, component := range plannertest.Components() {
			labels = append(labels, without(component))
		}
	}
	if s.milp > 0 {
		labels = append(labels, solver)
	}
	return labels
}

// timeLimit is that of a row of a table.
func (s *suite) timeLimit(label string) time.Duration {
	if label == solver {
		return s.milp
	}
	return s.limit
}

// table writes the figures of a slice, a row per strategy.
func (r *report) table(title string, records []*record) {
	n := countOf(records, r.settled)
	r.printf("### %s\n\n%d cases: %d feasible, %d proven infeasible, %d unknown", title, n.cases, n.feasible,
		n.infeasible, n.unknown)
	if r.settled {
		r.printf("; of them %d settled", n.settled)
	} else {
		r.printf(", %d settled", n.settled)
	}
	r.printf("; %d with hot keys.\n\n", n.hot)
	r.printf("| strategy | cases | meets | missed | stopped | late | ratio median | p95 | worst | bound 0 | own bound " +
		"median | p5 | table | θ after | moved | time median | p95 |\n")
	r.printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, label := range r.labels() {
		t := tally{strategy: label}
		for _, x := range records {
			if r.settled || !x.settled {
				t.add(x, r.timeLimit(label))
			}
		}
		if t.tried == 0 {
			continue
		}
		r.printf("| %s | %d | %d | %d | %d | %d | %s | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n",
			label, t.tried, t.meets, t.missed, t.stopped, t.late,
			figure(percentile(t.ratios, 50), "%.3f"), figure(percentile(t.ratios, 95), "%.3f"),
			figure(percentile(t.ratios, 100), "%.3f"), t.zero,
			figure(percentile(t.qualities, 50), "%.4f"), figure(percentile(t.qualities, 5), "%.4f"),
			figure(percentile(t.tables, 50), "%.0f"), figure(percentile(t.thetas, 50), "%.4f"),
			figure(100*percentile(t.fractions, 50), "%.3f %%"),
			seconds(percentile(t.seconds, 50)), seconds(percentile(t.seconds, 95)))
	}
	r.printf("\n")
}

// figure words a number; – where there is none.
func figure(x float64, format string) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 1):
		return "∞"
	}
	return fmt.Sprintf(format, x)
}

// seconds words a time.
func seconds(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return measure.Milliseconds(time.Duration(x * float64(time.Second)))
}

// refuted lists the cases with a plan better than a proof allows.
func (r *report) refuted() {
	if r.contradictions() == 0 {
		return
	}
	r.printf("## Refuted certificates\n\n**A plan that meets every constraint is better than a certificate says any can " +
		"be.**\n\n")
	for i := range r.records {
		x := &r.records[i]
		if !x.contradicted {
			continue
		}
		r.printf("- `%s`: %s found %s;", x.name, x.foundBy, number(x.found))
		for j := range x.results {
			switch y := &x.results[j]; {
			case y.proves && y.infeasible:
				r.printf(" %s proves infeasibility;", y.strategy)
			case y.proves && y.bound > x.found:
				r.printf(" %s proves %s;", y.strategy, number(y.bound))
			}
		}
		r.printf("\n")
	}
	r.printf("\n")
}

// worstCases are listed at the end.
const worstCases = 20

// worst lists the cases in which the committed or the reference strategy is
// farthest from the bound.
func (r *report) worst() {
	judged := r.judged()
	type entry struct {
		*record
		x     *result
		ratio float64
	}
	var all []entry
	for i := range r.records {
		x := &r.records[i]
		answer := x.of(judged)
		if answer == nil || x.class != classFeasible {
			continue
		}
		if ratio, ok := x.ratio(answer); ok && ratio > 1 {
			all = append(all, entry{x, answer, ratio})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.ratio, a.ratio) })
	r.printf("## The worst cases of `%s`\n\nThe first %d by ratio; all that miss a feasible case are listed.\n\n",
		judged, worstCases)
	r.printf("| case | keys | hot | θ before | objective | lower bound | ratio | time | best other | its objective |\n")
	r.printf("|---|--:|--:|--:|--:|--:|--:|--:|---|--:|\n")
	for i, e := range all {
		if i >= worstCases && !math.IsInf(e.ratio, 1) {
			break
		}
		other, least := e.bestOther(judged)
		objective := figure(math.NaN(), "")
		if e.x.planned() {
			objective = fmt.Sprintf("%.6g", e.x.objective)
		}
		r.printf("| `%s` | %d | %d | %.4f | %s | %.6g | %s | %s | %s | %s |\n", e.name, e.keys, e.hot, e.thetaBefore,
			objective, e.bound, figure(e.ratio, "%.3f"), seconds(e.x.elapsed.Seconds()), other, figure(least, "%.6g"))
	}
	r.printf("\n")
}

// bestOther is the strategy with the least objective of those that are not the
// one judged, under either certificate, and meet every constraint.
func (r *record) bestOther(judged string) (strategy string, objective float64) {
	strategy, objective = "–", math.NaN()
	for i := range r.results {
		x := &r.results[i]
		if x.strategy == judged || x.strategy == reference || !x.planned() || !x.meets {
			continue
		}
		if math.IsNaN(objective) || x.objective < objective {
			strategy, objective = x.strategy, x.objective
		}
	}
	return strategy, objective
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"plannerd/planner"
)

// report writes what a suite found as Markdown.
type report struct {
	*suite
	yardstick float64 // seconds
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
	var streams, families []*record
	for i := range r.records {
		if x := &r.records[i]; x.family != "" {
			families = append(families, x)
		} else {
			streams = append(streams, x)
		}
	}
	r.section("Streams", streams, streamSlices)
	r.section("Families", families, familySlices)
	r.gapAgainstWork()
	r.refuted()
	r.worst()
	return r.err
}

// preamble says what was measured, and how to read it.
func (r *report) preamble() {
	r.printf("# Quality of plans\n\n")
	if r.ctx.Err() != nil {
		r.printf("**Interrupted: these are the cases until then.**\n\n")
	}
	r.printf("Planner revision %s, %s, %d cases in %s. Sorting a million random `float64` takes %s (median of %d): the "+
		"yardstick of the times, each of which is one `planner.Run`, alone, certificate included.\n\n",
		planner.Revision, runtime.Version(), len(r.records), r.elapsed.Round(time.Second), seconds(r.yardstick),
		r.yardsticks)
	r.printf("- Streams are measured as recorded, from their first interval and an empty table. Each interval is put to "+
		"every strategy on the same statistics and the same routing table. The plan of `%s` is then carried on.\n",
		planner.Optimal)
	r.printf("- `%s` is the same strategy with certificate level tight; the others prove at level fast. Its effort is "+
		"%s.\n", reference, r.last().effort)
	r.printf("- Ratio: objective over the case's best proven lower bound, of all certificates, over feasible cases. A " +
		"plan that violates a constraint, or none, is ∞. 1 when the objective is 0; *bound 0* counts the plans that move " +
		"state where nothing better than 0 is proven, which are in no percentile.\n")
	r.printf("- Feasible: some plan meets every constraint (each load ≤ b_d, table ≤ A_max); infeasible: a certificate " +
		"proves that none does. *meets*: plans that do; *missed*: feasible cases without one.\n")
	r.printf("- *own bound*: the strategy's bound relative to the best one. Percentiles are nearest-rank.\n")
	r.printf("- Cases with nothing to do, where every strategy answers the same at once, are counted as settled and are " +
		"in no figure.\n")
	r.printf("- Time limit of a plan: %s; *stopped* counts those that it cut short, *late* those that took more than "+
		"one and a half times as long, be it to plan or to prove. Strategies that take long skip snapshots of many "+
		"keys.\n\n", r.limit)
}

// A slicing splits the cases by one parameter.
type slicing struct {
	name string
	of   func(*record) string
}

var (
	familySlices = []slicing{{"family", func(r *record) string { return string(r.family) }}}
	streamSlices = []slicing{
		{"N_D", func(r *record) string { return strconv.Itoa(r.drive.instances) }},
		{"A_max", func(r *record) string { return strconv.FormatInt(r.drive.table, 10) }},
		{"stream", func(r *record) string { return r.drive.stream.Name }},
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
			v := by.of(x)
			if groups[v] == nil {
				values = append(values, v)
			}
			groups[v] = append(groups[v], x)
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
	return append(labels, reference)
}

// gapAgainstWork is a table of what more work is worth.
func (r *report) gapAgainstWork() {
	if len(r.efforts) < 2 || !slices.Contains(r.strategies, planner.Optimal) {
		return
	}
	r.printf("## Gap against work\n\n`%s`, over the feasible cases with something to do. Work is the mean in work "+
		"units.\n\n", planner.Optimal)
	r.printf("| effort | cases | missed | ratio median | p90 | p95 | worst | above %g | work | time median | p95 |\n",
		wide)
	r.printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, a := range r.attempts(planner.Optimal) {
		t := tally{strategy: a.label}
		for i := range r.records {
			if x := &r.records[i]; !x.settled && x.class == classFeasible {
				t.add(x, r.limit)
			}
		}
		if t.tried == 0 {
			continue
		}
		r.printf("| %s | %d | %d | %s | %s | %s | %s | %.1f %% | %.0f | %s | %s |\n", a.effort, t.tried, t.missed,
			figure(percentile(t.ratios, 50), "%.3f"), figure(percentile(t.ratios, 90), "%.3f"),
			figure(percentile(t.ratios, 95), "%.3f"), figure(percentile(t.ratios, 100), "%.3f"),
			100*share(t.ratios, wide), t.work/float64(t.tried),
			seconds(percentile(t.seconds, 50)), seconds(percentile(t.seconds, 95)))
	}
	r.printf("\n")
}

// table writes the figures of a slice, a row per strategy.
func (r *report) table(title string, records []*record) {
	n := countOf(records)
	r.printf("### %s\n\n%d cases: %d feasible, %d proven infeasible, %d unknown, %d settled; %d with hot keys.\n\n",
		title, n.cases, n.feasible, n.infeasible, n.unknown, n.settled, n.hot)
	r.printf("| strategy | cases | meets | missed | stopped | late | ratio median | p95 | worst | bound 0 | own bound " +
		"median | p5 | table | θ after | moved | time median | p95 |\n")
	r.printf("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, label := range r.labels() {
		t := tally{strategy: label}
		for _, x := range records {
			if !x.settled {
				t.add(x, r.limit)
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
	return fmt.Sprintf("%.3g ms", 1000*x)
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
		r.printf("- `%s`: %s found %s;", x.name, x.foundBy, figure(x.found, "%.6g"))
		for j := range x.results {
			switch y := &x.results[j]; {
			case y.proves && y.infeasible:
				r.printf(" %s proves infeasibility;", y.strategy)
			case y.proves && y.bound > x.found:
				r.printf(" %s proves %s;", y.strategy, figure(y.bound, "%.6g"))
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

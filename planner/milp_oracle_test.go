package planner_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"plannerd/internal/lab/milp"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/plannertest"
)

// A drift is a run of a Zipf workload as in mixed-routing §V, whose last interval
// is planned.
type drift struct {
	keys, instances int
	window          int // w
	intervals       int // up to the one that is planned; a strategy plans those before it
	driver          string
	theta           float64
	limit           int64 // A_max; < 0: none
	seed            uint64
	capacities      []float64 // repeated; none: all 1
	drain, add      int       // instances removed and added before the last interval
}

func (d drift) String() string {
	s := fmt.Sprintf("K=%d N=%d w=%d i=%d %s θ=%v", d.keys, d.instances, d.window, d.intervals,
		cmp.Or(d.driver, planner.Mixed), d.theta)
	if d.limit >= 0 {
		s += fmt.Sprintf(" A=%d", d.limit)
	}
	if d.capacities != nil {
		s += " κ"
	}
	if d.drain > 0 {
		s += fmt.Sprintf(" −%d", d.drain)
	}
	if d.add > 0 {
		s += fmt.Sprintf(" +%d", d.add)
	}
	return s
}

func (d drift) options() planner.Options {
	o := planner.Options{ThetaMax: d.theta}
	if d.limit >= 0 {
		o.TableLimit = &d.limit
	}
	return o
}

// configuration has n instances that were there and added ones.
func (d drift) configuration(t *testing.T, first, n int) planner.Configuration {
	t.Helper()
	var nodes []partitioner.Instance
	var config planner.Configuration
	for id := first; id < first+n; id++ {
		capacity := 1.0
		if len(d.capacities) > 0 {
			capacity = d.capacities[id%len(d.capacities)]
		}
		nodes = append(nodes, partitioner.Instance{ID: int32(id)})
		config.Instances = append(config.Instances, planner.Instance{ID: int32(id), Capacity: capacity})
	}
	hash, err := partitioner.New(partitioner.Config{Function: "ring"}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	config.Hash = hash
	return config
}

// snapshot drives the operator to the interval that is planned.
func (d drift) snapshot(t *testing.T) *planner.Snapshot {
	t.Helper()
	base := planner.Base{Configuration: d.configuration(t, 0, d.instances)}
	g, err := workload.New(workload.Config{
		Keys: d.keys, Instances: d.instances, Z: 0.85, Fluctuation: 1, Window: d.window, Seed: d.seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	current, err := g.Assign(base.Configuration.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for interval := 1; ; interval++ {
		target := base.Configuration
		if interval == d.intervals && d.drain+d.add > 0 {
			target = d.configuration(t, d.drain, d.instances-d.drain+d.add)
			base.HashChanged = true
		}
		stats, err := g.Next(current)
		if err != nil && !errors.Is(err, workload.ErrUnreachable) {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		stats.Instance = slices.Clone(current)
		s, err := planner.NewSnapshot(stats, target, base)
		if err != nil {
			t.Fatal(err)
		}
		if interval == d.intervals {
			return s
		}
		p := run(t, cmp.Or(d.driver, planner.Mixed), s, d.options())
		for _, m := range p.Moves {
			current[m.Item] = s.Instances[m.To].ID
		}
		if base.Table, err = p.Table(); err != nil {
			t.Fatal(err)
		}
	}
}

// gateDrifts are chosen for being solved within a second or two.
var gateDrifts = []drift{
	{keys: 500, instances: 5, window: 1, intervals: 1, theta: 0.08, limit: -1, seed: 1},
	{keys: 300, instances: 5, window: 5, intervals: 2, theta: 0.1, limit: 60, seed: 1},
	{keys: 500, instances: 5, window: 5, intervals: 2, theta: 0.2, limit: 300, seed: 4},
	{keys: 1000, instances: 5, window: 1, intervals: 3, theta: 0.2, limit: 300, seed: 3, driver: planner.Optimal},
	{keys: 300, instances: 5, window: 5, intervals: 2, theta: 0.2, limit: -1, seed: 1, drain: 1},
	{keys: 500, instances: 5, window: 5, intervals: 2, theta: 0.2, limit: 3000, seed: 1,
		capacities: []float64{1, 2, 1, 0.5}},
}

// allDrifts are not chosen for anything; the solver will not finish some.
func allDrifts() []drift {
	var ds []drift
	for n, x := range []struct {
		keys, instances, intervals int
		theta                      float64
	}{
		{500, 5, 2, 0.02}, {500, 10, 2, 0.08}, {500, 15, 3, 0.2},
		{1000, 5, 2, 0.05}, {1000, 10, 2, 0.08}, {1000, 15, 4, 0.1},
		{2000, 5, 2, 0.08}, {2000, 10, 3, 0.08}, {2000, 15, 2, 0.2},
		{5000, 5, 4, 0.02}, {5000, 10, 2, 0.08}, {5000, 15, 1, 0.08}, {5000, 15, 4, 0.08},
	} {
		for _, window := range []int{1, 5} {
			ds = append(ds, drift{
				keys: x.keys, instances: x.instances, window: window, intervals: x.intervals, theta: x.theta,
				limit: []int64{300, 3000, -1}[(n+window)%3], driver: []string{planner.Mixed, planner.Optimal}[n%2],
				seed: uint64(10 + n),
			})
		}
	}
	return append(ds,
		drift{keys: 2000, instances: 10, window: 5, intervals: 2, theta: 0.1, limit: -1, seed: 31, drain: 2},
		drift{keys: 2000, instances: 10, window: 5, intervals: 3, theta: 0.1, limit: 3000, seed: 32, add: 1},
		drift{keys: 2000, instances: 8, window: 5, intervals: 3, theta: 0.08, limit: 3000, seed: 33,
			capacities: []float64{1, 2, 0.5, 1.5}},
		drift{keys: 5000, instances: 10, window: 5, intervals: 2, theta: 0.08, limit: -1, seed: 34,
			capacities: []float64{1, 3}, drain: 1, add: 1},
	)
}

// TestSolverOracle holds certificates and strategy optimal against a general
// solver on workloads too large for exhaustive search. A whole list of them, up
// to 5000 keys, and asserting quality and speed besides:
//
//	PLANNERD_MILP=1m go test -timeout 0 -run TestSolverOracle -v ./planner
//
// The duration is what the solver may take for each, in each of two formulations.
func TestSolverOracle(t *testing.T) {
	milp.Require(t)
	drifts, limit := gateDrifts, 5*time.Second
	whole := os.Getenv("PLANNERD_MILP") != ""
	if whole {
		d, err := time.ParseDuration(os.Getenv("PLANNERD_MILP"))
		if err != nil {
			t.Fatalf("PLANNERD_MILP is no duration: %v", err)
		}
		drifts, limit = allDrifts(), d
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tsolver\toptimum\tsolver's bound\tsolver's time\toptimal\tratio\tbound\tbound / "+
		"optimum\ttime\tspeed-up\t")
	var rows []comparison
	for _, d := range drifts {
		x := compareWithSolver(t, d, limit)
		x.print(w)
		rows = append(rows, x)
		if whole {
			t.Log(d, x.solver.status)
		}
	}
	w.Flush()
	t.Log("\n" + b.String())
	judgeQuality(t, rows, whole)
}

// comparison is the solver's answer to a case beside that of strategy optimal.
type comparison struct {
	name   string
	solver solved
	plan   *planner.Plan // certificate tight
	time   time.Duration // of planning with certificate fast, the least of three
}

func compareWithSolver(t *testing.T, d drift, limit time.Duration) comparison {
	t.Helper()
	s, o := d.snapshot(t), d.options()
	x := comparison{name: d.String()}
	x.solve(t, s, o, limit)
	o.Certificate = planner.CertificateFast
	var fast *planner.Plan
	for n := range 3 {
		start := time.Now()
		fast = run(t, planner.Optimal, s, o)
		if took := time.Since(start); n == 0 || took < x.time {
			x.time = took
		}
	}
	o.Certificate = planner.CertificateTight
	x.plan = run(t, planner.Optimal, s, o)
	for _, p := range []*planner.Plan{fast, x.plan, run(t, planner.Mixed, s, o)} {
		if err := plannertest.Check(s, p.Options, p); err != nil {
			t.Errorf("%s, %s: %v", d, p.Strategy, err)
		}
		x.judge(t, p)
	}
	return x
}

// solve lets the solver try both formulations, and takes the better answer.
func (x *comparison) solve(t *testing.T, s *planner.Snapshot, o planner.Options, limit time.Duration) {
	t.Helper()
	var err error
	if x.solver, err = solveWith(t.Context(), s, o, limit, false); err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	if x.proven() || x.solver.status == milp.Infeasible {
		return
	}
	first := x.solver
	if x.solver, err = solveWith(t.Context(), s, o, limit, true); err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	if x.proven() || x.solver.status == milp.Infeasible {
		return
	}
	bound := max(first.bound, x.solver.bound)
	if x.solver.assignment == nil || first.assignment != nil && first.objective < x.solver.objective {
		x.solver = first
	}
	x.solver.bound = bound
}

// judge holds a plan and its certificate against what the solver has proven.
func (x *comparison) judge(t *testing.T, p *planner.Plan) {
	t.Helper()
	what := fmt.Sprintf("%s, %s, certificate %s", x.name, p.Strategy, p.Options.Certificate)
	c := p.Certificate
	met := plannertest.ScoreOf(p.Snapshot, p.Options, plannertest.AssignmentOf(p)).Violated == 0
	found := x.solver.assignment != nil
	switch {
	case c == nil:
		t.Errorf("%s: no certificate", what)
		return
	case c.Infeasible && (found || met):
		t.Errorf("%s: called infeasible, but the solver has %v", what, x.solver.objective)
	case found && c.LowerBound > x.solver.objective*(1+1e-12):
		t.Errorf("%s: lower bound %v, but the solver has %v", what, c.LowerBound, x.solver.objective)
	case x.solver.status == milp.Infeasible && met:
		t.Errorf("%s: meets all constraints, which the solver says is impossible", what)
	case met && p.Migration.Objective < x.solver.bound*(1-1e-6):
		t.Errorf("%s: objective %v below the solver's bound %v", what, p.Migration.Objective, x.solver.bound)
	}
	if err := judgeGap(c, p.Migration.Objective, met); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// ratio is the objective of strategy optimal to the optimum; 1 when both are 0.
func (x *comparison) ratio() float64 {
	if x.solver.objective == x.plan.Migration.Objective {
		return 1
	}
	return x.plan.Migration.Objective / x.solver.objective
}

func (x *comparison) proven() bool { return x.solver.status == milp.Optimal }

func (x *comparison) speedUp() float64 { return x.solver.time.Seconds() / x.time.Seconds() }

func (x *comparison) print(w *tabwriter.Writer) {
	fmt.Fprintf(w, "%s\t%s\t", x.name, x.solver.status)
	if x.solver.assignment == nil {
		fmt.Fprint(w, "—\t")
	} else {
		fmt.Fprintf(w, "%.0f\t", x.solver.objective)
	}
	fmt.Fprintf(w, "%.1f\t%s\t%.0f\t", x.solver.bound, x.solver.time.Round(time.Millisecond), x.plan.Migration.Objective)
	if x.solver.assignment == nil {
		fmt.Fprint(w, "—\t")
	} else {
		fmt.Fprintf(w, "%.4f\t", x.ratio())
	}
	bound := x.plan.Certificate.LowerBound
	fmt.Fprintf(w, "%.1f\t", bound)
	if x.proven() && x.solver.objective > 0 {
		fmt.Fprintf(w, "%.4f\t", bound/x.solver.objective)
	} else {
		fmt.Fprint(w, "—\t")
	}
	fmt.Fprintf(w, "%s\t%.0f\t\n", x.time.Round(10*time.Microsecond), x.speedUp())
}

// judgeQuality asserts how far strategy optimal may be from the optima that the
// solver has proven, and how much faster it has to be.
func judgeQuality(t *testing.T, rows []comparison, whole bool) {
	t.Helper()
	var ratios []float64
	for _, x := range rows {
		if !x.proven() {
			continue
		}
		ratios = append(ratios, x.ratio())
		if whole && x.speedUp() < 100 {
			t.Errorf("%s: only %.0f times faster than the solver", x.name, x.speedUp())
		}
	}
	if len(ratios) == 0 {
		t.Log("the solver has proven no optimum in the time it had")
		return
	}
	slices.Sort(ratios)
	median, worst := ratios[len(ratios)/2], ratios[len(ratios)-1]
	t.Logf("%d of %d optima proven; objective to optimum: median %.4f, worst %.4f", len(ratios), len(rows), median, worst)
	if whole && (median > 1.01 || worst > 1.03) {
		t.Errorf("objective to optimum: median %.4f, worst %.4f; want at most 1.01 and 1.03", median, worst)
	}
}

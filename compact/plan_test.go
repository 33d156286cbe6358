package compact_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plannerd/compact"
	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// names are the strategies that cases are drawn for. They are not asked from the
// registry: with one more of them every case would be another one, and what the
// cases count together is known for these.
func names() []string {
	return []string{
		planner.Mixed, planner.Optimal, planner.MixedBruteForce, planner.MinMig, planner.MinTable, planner.LLFD,
		planner.Readj,
		planner.LPT,
	}
}

// varied makes a case of keys that is small enough for the exhaustive oracle, half
// of them of magnitudes far apart.
func varied(r *rand.Rand) *plannertest.Case {
	for {
		c := plannertest.Tiny(r)
		if r.IntN(2) == 0 {
			c = plannertest.Varied(r)
		}
		uncount(c)
		if plannertest.CheckSnapshot(c.Snapshot()) == nil {
			return c
		}
	}
}

// uncount makes keys of the items.
func uncount(c *plannertest.Case) {
	c.Counted = false
	for i := range c.Items {
		c.Items[i].Count = 1
	}
}

// keyCase makes a case of keys and names a strategy for it. Some cases have a
// migration limit, for which only optimal plans.
func keyCase(r *rand.Rand) (c *plannertest.Case, strategy string) {
	strategies := names()
	c, strategy = plannertest.Tiny(r), strategies[r.IntN(len(strategies))]
	if r.IntN(3) == 0 {
		c = plannertest.Medium(r, 20+r.IntN(120), 2+r.IntN(7))
	}
	uncount(c)
	if len(c.Items) < 50 && r.IntN(6) == 0 {
		plannertest.LimitMigration(r, c)
		strategy = planner.Optimal
	}
	return c, strategy
}

// check recounts a plan. With least θ as the objective there is something to do
// about balanced cases, too.
func check(s *planner.Snapshot, o planner.Options, p *planner.Plan) error {
	err := plannertest.Check(s, o, p)
	var all interface{ Unwrap() []error }
	if o.Objective != planner.MinImbalance || !errors.As(err, &all) {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(all.Unwrap()), func(err error) bool {
		return strings.HasSuffix(err.Error(), "though there was nothing to do") ||
			strings.HasPrefix(err.Error(), "cause balanced")
	})...)
}

// violations names the constraints that an assignment does not meet.
func violations(s *planner.Snapshot, o planner.Options, a plannertest.Assignment) (broken []string) {
	score := plannertest.ScoreOf(s, o, a)
	if o.Objective != planner.MinImbalance && score.Excess > 0 {
		broken = append(broken, "load")
	}
	if score.TableExcess > 0 {
		broken = append(broken, "table")
	}
	if o.Objective == planner.MinImbalance && !plannertest.WithinMigrationLimit(s, o, a) {
		broken = append(broken, "migration")
	}
	return broken
}

// Every plan of keys that was made of classes is a valid one, whatever the case,
// and meets all constraints if both the plan of the classes does and the same
// strategy's own plan of the keys.
func TestPlansOfRandomCases(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 101))
	ofClasses, ofKeys, asPlanned, infeasible := 0, 0, 0, 0
	for n := range deep.Cases(800) {
		c, strategy := keyCase(r)
		s, o, degree := c.Snapshot(), c.Options, 1<<r.IntN(9)
		z := compress(t, s, degree)
		p, err := z.Plan(strategy, o)
		if err != nil {
			t.Fatalf("case %d, %s: %v\n%s", n, strategy, err, c)
		}
		if err := errors.Join(check(s, o, p.Plan), checkError(z, p)); err != nil {
			t.Fatalf("case %d, %s, R = %d: %v\n%s", n, strategy, degree, err, c)
		}
		if p.Strategy != strategy || p.Classes.Strategy != strategy || p.Classes.Snapshot != z.Items {
			t.Fatalf("plans of strategies %q and %q", p.Strategy, p.Classes.Strategy)
		}
		if len(violations(z.Items, o, plannertest.AssignmentOf(p.Classes))) > 0 {
			continue
		}
		ofClasses++
		broken := violations(s, o, plannertest.AssignmentOf(p.Plan))
		if len(broken) == 0 {
			ofKeys++
			if len(p.HotKeys) > 0 || checkResolved(z, z.Moves(p.Classes), p.Moves) == nil {
				asPlanned++
			}
			continue
		}
		own, err := planner.Run(strategy, s, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(violations(s, o, plannertest.AssignmentOf(own))) == 0 {
			t.Errorf("case %d, %s, R = %d: does not meet its limit of %v, unlike the plan of the keys themselves\n%s", n,
				strategy, degree, broken, c)
		}
		if p.Certificate.Infeasible {
			infeasible++
		}
	}
	t.Logf("%d plans of classes meet all constraints, so do %d plans of their keys, %d of them without mending; of the "+
		"others %d are proven to be impossible",
		ofClasses, ofKeys, asPlanned, infeasible)
	if ofKeys < ofClasses*98/100 || asPlanned < ofKeys*9/10 {
		t.Error("too few")
	}
}

// A plan's certificate is about the keys: no plan of theirs is below its bound.
func TestCertificatesOfTinyCases(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	for n := range deep.Cases(1000) {
		c := varied(r)
		strategies := names()
		strategy := strategies[r.IntN(len(strategies))]
		if n%5 == 0 {
			plannertest.LimitMigration(r, c)
			strategy = planner.Optimal
		}
		c.Options.Certificate = []planner.CertificateLevel{planner.CertificateFast, planner.CertificateTight}[r.IntN(2)]
		s, o := c.Snapshot(), c.Options
		p, err := compress(t, s, 1<<r.IntN(5)).Plan(strategy, o)
		if err != nil {
			t.Fatal(err)
		}
		if p.Certificate == nil || p.Classes.Certificate != nil {
			t.Fatalf("certificates %v of the keys, %v of the classes", p.Certificate, p.Classes.Certificate)
		}
		bound := p.Certificate.LowerBound
		if o.Objective == planner.MinImbalance {
			_, best, ok := plannertest.OptimalTheta(s, o)
			if ok && (p.Certificate.Infeasible || bound > best.Theta+1e-9*(1+best.Theta)) {
				t.Fatalf("%s: θ ≥ %v, infeasible %t, but %v\n%s", strategy, bound, p.Certificate.Infeasible, best.Theta, c)
			}
			continue
		}
		_, best := plannertest.Optimum(s, o)
		if best.Violated == 0 && (p.Certificate.Infeasible || bound > best.Objective*(1+1e-9)+unseen(s, o)) {
			t.Fatalf("%s: bound %v, infeasible %t, but the optimum is %v\n%s", strategy, bound, p.Certificate.Infeasible,
				best.Objective, c)
		}
	}
}

// unseen is what states may be off by: what is below 2⁻⁶² of all state counts as
// nothing.
func unseen(s *planner.Snapshot, o planner.Options) float64 {
	return 0x1p-56 * (plannertest.ProblemOf(s, o).AllState + o.KeyOverhead*float64(s.Len()))
}

// describe writes a plan in keys and ids.
func describe(p *compact.KeyPlan) []string {
	id := func(d int32) int32 { return p.Snapshot.Instances[d].ID }
	var out []string
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("%q %d → %d %s", p.Snapshot.Keys.At(int(m.Item)), id(m.From), id(m.To), m.Reason))
	}
	for _, x := range p.Set {
		out = append(out, fmt.Sprintf("set %q → %d", p.Snapshot.Keys.At(int(x.Item)), id(x.To)))
	}
	for n := range p.Unset {
		out = append(out, fmt.Sprintf("unset %q", p.UnsetKey(n)))
	}
	return append(out, fmt.Sprintf("%+v %v %v %v %d %+v %d %s", p.Migration, p.Theta, p.Underload, p.Causes, p.TableAfter,
		p.Instances, p.WorkUnits, p.EndReason))
}

func TestPlansDoNotDependOnRowOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	for range deep.Cases(150) {
		c, strategy := keyCase(r)
		c.Options.Certificate = planner.CertificateOff
		d, degree := c.Clone(), 1<<r.IntN(9)
		r.Shuffle(len(d.Items), func(i, j int) { d.Items[i], d.Items[j] = d.Items[j], d.Items[i] })
		p, err := compress(t, c.Snapshot(), degree).Plan(strategy, c.Options)
		if err != nil {
			t.Fatal(err)
		}
		q, err := compress(t, d.Snapshot(), degree).Plan(strategy, d.Options)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := describe(q), describe(p); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, R = %d, shuffled: %q\nwant %q\n%s", strategy, degree, got, want, c)
		}
	}
}

// Neither do they on the number of processors, with as many keys as several are
// used for.
func TestPlansDoNotDependOnProcessors(t *testing.T) {
	s := zipfSnapshot(140_000, 9)
	limit := int64(2000)
	for _, degree := range []int{1, 64} {
		for _, strategy := range []string{planner.Mixed, planner.Optimal} {
			plan := func(processors int) []string {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				p, err := compress(t, s, degree).Plan(strategy, planner.Options{ThetaMax: 0.05, TableLimit: &limit})
				if err != nil {
					t.Fatal(err)
				}
				return describe(p)
			}
			if one, two := plan(1), plan(2); !reflect.DeepEqual(one, two) {
				t.Errorf("%s, R = %d: %d lines with one processor, %d with two, not the same", strategy, degree, len(one), len(two))
			}
		}
	}
}

// The snapshot is not changed.
func TestInputsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 10))
	for range deep.Cases(300) {
		c, strategy := keyCase(r)
		s := c.Snapshot()
		z := compress(t, s, 8)
		classOf, records, items := fmt.Sprint(z.ClassOf), fmt.Sprint(z.Records), fmt.Sprintf("%+v", *z.Items)
		if _, err := z.Plan(strategy, c.Options); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, c.Snapshot()) {
			t.Fatalf("%s changed the snapshot of\n%s", strategy, c)
		}
		if classOf != fmt.Sprint(z.ClassOf) || records != fmt.Sprint(z.Records) || items != fmt.Sprintf("%+v", *z.Items) {
			t.Fatalf("%s changed the compression of\n%s", strategy, c)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	c := compress(t, onOne(1, 2, 3), 4)
	_, err := c.Plan("no such", planner.Options{})
	wantInputError(t, "Strategy", err, -1, "Strategy")
	_, err = c.Plan(planner.Mixed, planner.Options{ThetaMax: -1})
	wantInputError(t, "θ_max", err, -1, "ThetaMax")
	_, err = c.Plan(planner.Mixed, planner.Options{Stop: func() bool { return true }})
	if err != nil && !errors.Is(err, planner.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

// The work units of a plan are the budget that repeats it.
func TestPlansWithWorkBudgets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 11))
	for range deep.Cases(200) {
		c, strategy := keyCase(r)
		z := compress(t, c.Snapshot(), 1<<r.IntN(9))
		p, err := z.Plan(strategy, c.Options)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Options
		o.WorkBudget = max(1, p.WorkUnits)
		q, err := z.Plan(strategy, o)
		if err != nil {
			t.Fatalf("%s, %d units: %v\n%s", strategy, o.WorkBudget, err, c)
		}
		if got, want := describe(q), describe(p); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with its own budget: %q\nwant %q\n%s", strategy, got, want, c)
		}
		o.WorkBudget = 1 + r.Int64N(o.WorkBudget)
		q, err = z.Plan(strategy, o)
		if errors.Is(err, planner.ErrStopped) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := check(z.Keys, o, q.Plan); err != nil {
			t.Fatalf("%s, %d units: %v\n%s", strategy, o.WorkBudget, err, c)
		}
		if q.WorkUnits > o.WorkBudget {
			t.Fatalf("%s: %d units of a budget of %d\n%s", strategy, q.WorkUnits, o.WorkBudget, c)
		}
		repeats(t, z, strategy, o, q)
	}
}

// repeats checks that the work units of a plan that was cut short repeat it.
func repeats(t *testing.T, z *compact.Compression, strategy string, o planner.Options, p *compact.KeyPlan) {
	t.Helper()
	o.WorkBudget, o.Stop = max(1, p.WorkUnits), nil
	again, err := z.Plan(strategy, o)
	if err != nil {
		t.Fatalf("%s, again with %d units: %v", strategy, p.WorkUnits, err)
	}
	if !reflect.DeepEqual(again.Moves, p.Moves) || again.WorkUnits != p.WorkUnits {
		t.Fatalf("%s: %d moves with %d units, again %d with %d", strategy, len(p.Moves), p.WorkUnits, len(again.Moves),
			again.WorkUnits)
	}
}

// A plan that was stopped at any moment is repeated by its work units.
func TestStoppedPlansRepeat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 12))
	stopped := 0
	for range 300 { // few of them are stopped with a plan
		c, strategy := keyCase(r)
		z := compress(t, c.Snapshot(), 1<<r.IntN(9))
		o, left := c.Options, r.IntN(12)
		o.Stop = func() bool { left--; return left < 0 }
		p, err := z.Plan(strategy, o)
		if errors.Is(err, planner.ErrStopped) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.EndReason == planner.EndStopped {
			stopped++
			repeats(t, z, strategy, o, p)
		}
	}
	if stopped == 0 {
		t.Error("no plan was stopped")
	}
}

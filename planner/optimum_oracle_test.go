package planner_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// oracleCases is how many small cases are judged by exhaustive search:
//
//	PLANNERD_ORACLE=100000 go test -run Oracle ./planner
func oracleCases(t *testing.T, otherwise int) int {
	t.Helper()
	v := os.Getenv("PLANNERD_ORACLE")
	if v == "" {
		return deep.Cases(otherwise)
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("PLANNERD_ORACLE is %q, want a number of cases", v)
	}
	return n
}

// truth is what exhaustive search tells about a case.
type truth struct {
	c    *plannertest.Case
	s    *planner.Snapshot
	best plannertest.Score
	// noise is what sums of states may lack: some last bits of all state, that of
	// residual keys included, whether they are in float64 or in fixed point.
	noise float64
}

func newTruth(c *plannertest.Case) *truth {
	y := &truth{c: c, s: c.Snapshot()}
	_, y.best = plannertest.Optimum(y.s, c.Options)
	y.noise = 1e-15 * (plannertest.ProblemOf(y.s, c.Options).AllState + 8*c.Options.KeyOverhead)
	return y
}

func (y *truth) feasible() bool { return y.best.Violated == 0 }

// above reports whether x is greater than y by more than their sums may lack.
// Proofs have to stay below the optimum in spite of their own rounding.
func above(x, y, noise float64) bool { return x > y*(1+1e-12)+noise }

// plan runs a strategy on the case.
func (y *truth) plan(strategy string, level planner.CertificateLevel) (*planner.Plan, error) {
	o := y.c.Options
	o.Certificate = level
	return planner.Run(strategy, y.s, o)
}

// judge runs a strategy and returns what is wrong with the certificate of its
// plan.
func (y *truth) judge(strategy string, level planner.CertificateLevel) (*planner.Plan, error) {
	p, err := y.plan(strategy, level)
	if err != nil {
		return nil, err
	}
	return p, y.judgePlan(p)
}

func (y *truth) judgePlan(p *planner.Plan) error {
	if err := y.judgeBound(p); err != nil {
		return err
	}
	return y.judgeUnmet(p)
}

// judgeBound checks what a certificate says but for the constraints that could give way.
func (y *truth) judgeBound(p *planner.Plan) error {
	c := p.Certificate
	if c == nil {
		return errors.New("no certificate")
	}
	score := plannertest.ScoreOf(y.s, y.c.Options, plannertest.AssignmentOf(p))
	switch {
	case !(c.LowerBound >= 0) || math.IsInf(c.LowerBound, 0):
		return fmt.Errorf("lower bound %v", c.LowerBound)
	case c.Infeasible && y.feasible():
		return fmt.Errorf("called infeasible, but an assignment of objective %v meets all constraints", y.best.Objective)
	case c.Infeasible && c.LowerBound != 0:
		return fmt.Errorf("lower bound %v though infeasible", c.LowerBound)
	case y.feasible() && above(p.Proven(), y.best.Objective, y.noise):
		return fmt.Errorf("lower bound %v above the optimum %v by %v", p.Proven(), y.best.Objective,
			p.Proven()-y.best.Objective)
	case score.Violated == 0 && above(c.LowerBound, p.Migration.Objective, 0):
		return fmt.Errorf("lower bound %v above the plan's objective %v", c.LowerBound, p.Migration.Objective)
	}
	return judgeGap(c, p.Migration.Objective, score.Violated == 0)
}

// judgeGap compares the gap with its definition.
func judgeGap(c *planner.Certificate, objective float64, met bool) error {
	switch {
	case !met || c.LowerBound == 0 && objective > 0:
		if c.Gap != nil {
			return fmt.Errorf("gap %v, want none", *c.Gap)
		}
	case c.Gap == nil:
		return fmt.Errorf("no gap, objective %v, lower bound %v", objective, c.LowerBound)
	case objective == 0:
		if *c.Gap != 0 {
			return fmt.Errorf("gap %v between 0 and 0", *c.Gap)
		}
	default:
		if want := (objective - c.LowerBound) / c.LowerBound; *c.Gap < 0 || math.Abs(*c.Gap-want) > 1e-12*(1+want) {
			return fmt.Errorf("gap %v, want %v", *c.Gap, want)
		}
	}
	return nil
}

// judgeUnmet checks that the constraints said to be unmet are those that could give
// way, and that none comes with less than said.
func (y *truth) judgeUnmet(p *planner.Plan) error {
	c := p.Certificate
	hot := len(p.HotKeys) > 0
	switch {
	case len(c.Unmet) == 0 && (c.Infeasible || hot):
		return fmt.Errorf("no constraint unmet, infeasible %t, %d hot keys", c.Infeasible, len(p.HotKeys))
	case len(c.Unmet) > 0 && !c.Infeasible && !hot:
		return fmt.Errorf("unmet %+v though neither infeasible nor hot", c.Unmet)
	case len(c.Unmet) == 0:
		return nil
	}
	possible, alone := y.leastOf(c.Infeasible, hot)
	seen := map[limit]bool{}
	for _, u := range c.Unmet {
		k := limit{u.Constraint, u.Resource}
		least, ok := possible[k]
		if !ok || seen[k] {
			return fmt.Errorf("unmet %+v, but no value of %v helps, or it is named twice", c.Unmet, k)
		}
		seen[k] = true
		limit, noise := y.value(k), 1e-12*(1+least) // θ is a difference to 1
		if u.Constraint == planner.ConstraintTable {
			noise = 0
		}
		if err := judgeLeast(u, limit, least, noise); err != nil {
			return err
		}
	}
	_, helps := possible[limit{Constraint: planner.ConstraintTheta}]
	if helps && alone && len(y.s.Resources) == 0 && c.Unmet[0].Constraint != planner.ConstraintTheta {
		return fmt.Errorf("unmet %+v, but θ could give way", c.Unmet)
	}
	return nil
}

// limit names a constraint that could give way.
type limit struct {
	planner.Constraint

	resource string
}

// limits are those of the case, by dimension.
func (y *truth) limits() map[int]limit {
	limits := map[int]limit{0: {Constraint: planner.ConstraintTheta}}
	for r, of := range y.s.Resources {
		limits[r+1] = limit{planner.ConstraintTheta, of.Name}
		if of.Limited {
			limits[r+1] = limit{planner.ConstraintCapacity, of.Name}
		}
	}
	if y.c.Options.TableLimit != nil {
		limits[plannertest.Table] = limit{Constraint: planner.ConstraintTable}
	}
	return limits
}

// value is what a constraint asks for.
func (y *truth) value(k limit) float64 {
	switch {
	case k.Constraint == planner.ConstraintTable:
		return float64(*y.c.Options.TableLimit)
	case k.Constraint == planner.ConstraintCapacity:
		return 1
	case k.resource == "":
		return y.c.Options.ThetaMax
	}
	i := slices.IndexFunc(y.s.Resources, func(of planner.Resource) bool { return of.Name == k.resource })
	return y.s.Resources[i].ThetaMax
}

// leastOf are the constraints that could give way, each with the least that plans
// come with which meet the others. Where none could on its own, they are those that have to in some
// set of constraints which could together; so they are beside resources where keys are hot, as these
// may be so in several of them. Of what is feasible but for hot keys the table limit is none of them.
func (y *truth) leastOf(infeasible, hot bool) (least map[limit]float64, alone bool) {
	limits, several := y.limits(), len(y.s.Resources) > 0
	least = map[limit]float64{}
	for r, k := range limits {
		if r == plannertest.Table {
			if size, ok := plannertest.LeastTable(y.s, y.c.Options); ok && infeasible {
				least[k] = float64(size)
			}
		} else if level, ok := y.leastLevel(r, []int{r}); ok {
			least[k] = level
		}
	}
	if len(least) > 0 && !(several && hot) {
		return least, true
	}
	for set := range 1 << (len(y.s.Resources) + 2) {
		var giveWay []int
		for r := range limits {
			if set>>(r-plannertest.Table)&1 == 1 || !several {
				giveWay = append(giveWay, r)
			}
		}
		for _, r := range giveWay {
			if level, ok := y.leastLevel(r, giveWay); ok {
				least[limits[r]] = max(least[limits[r]], level)
			}
		}
	}
	return least, false
}

// leastLevel is the least level of a dimension, if it is above what it may be, that plans come with
// which keep to all but what gives way. Hot keys may be anywhere, or stand where they were placed: it is
// the greater one.
func (y *truth) leastLevel(r int, giveWay []int) (level float64, ok bool) {
	anywhere, possible := plannertest.Least(y.s, y.c.Options, r, giveWay...)
	placed, placeable := plannertest.LeastPlaced(y.s, y.c.Options, r, giveWay...)
	if possible {
		level = anywhere
	}
	if placeable {
		level = max(level, placed)
	}
	return level, level > y.value(y.limits()[r])
}

// judgeLeast checks an unmet constraint, least being what plans that meet the
// others come with.
func judgeLeast(u planner.Unmet, limit, least, noise float64) error {
	switch {
	case u.Limit != limit:
		return fmt.Errorf("limit of unmet %+v, want %v", u, limit)
	case !(u.AtLeast > u.Limit) || math.IsInf(u.AtLeast, 0) && !math.IsInf(least, 1):
		return fmt.Errorf("unmet %+v could be met", u)
	case u.AtLeast > least+noise:
		return fmt.Errorf("unmet %+v, but %v is possible", u, least)
	case least <= limit:
		return fmt.Errorf("unmet %+v, but %v is possible, which meets it", u, least)
	}
	return nil
}

var levels = []planner.CertificateLevel{planner.CertificateFast, planner.CertificateTight}

// eachVaried judges many cases side by side. The first that fails is made small,
// as long as it fails alike, and reported.
func eachVaried(t *testing.T, n int, seed uint64,
	judge func(*rand.Rand, *plannertest.Case) (what string, fails func(*plannertest.Case) error)) {
	t.Helper()
	const workers = 4
	var wg sync.WaitGroup
	var first sync.Once
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for i := w; i < n && !t.Failed(); i += workers {
				c := plannertest.Varied(r)
				what, fails := judge(r, c)
				if fails == nil {
					continue
				}
				first.Do(func() {
					kind := kindOf(fails(c))
					failShrunk(t, what, c, func(d *plannertest.Case) error {
						if err := fails(d); kindOf(err) == kind {
							return err
						}
						return nil
					})
				})
			}
		})
	}
	wg.Wait()
}

// kindOf is what an error says without its numbers.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("0123456789.e+-", c) {
			return -1
		}
		return c
	}, err.Error())
}

// certify holds certificates of these levels, and strategy optimal, against exhaustive search of varied cases that
// change makes of others.
func certify(
	t *testing.T, n int, seed uint64, levels []planner.CertificateLevel, change func(*rand.Rand, *plannertest.Case),
) (y tally) {
	t.Helper()
	var mu sync.Mutex
	eachVaried(t, n, seed, func(r *rand.Rand, c *plannertest.Case) (string, func(*plannertest.Case) error) {
		change(r, c)
		x := newTruth(c)
		for _, level := range levels {
			for _, strategy := range names() {
				p, err := x.judge(strategy, level)
				if err != nil {
					return fmt.Sprintf("%s, certificate %s", strategy, level), func(d *plannertest.Case) error {
						_, err := newTruth(d).judge(strategy, level)
						return err
					}
				}
				if strategy == planner.Optimal {
					mu.Lock()
					y.add(x, p, level)
					mu.Unlock()
				}
			}
		}
		if optimalIsBest(x) != nil {
			return planner.Optimal, func(d *plannertest.Case) error { return optimalIsBest(newTruth(d)) }
		}
		return "", nil
	})
	if t.Failed() {
		t.FailNow()
	}
	t.Log(y.String())
	if y.cases >= 1000 && (y.feasible < y.cases/2 || y.priced < y.feasible/2 || y.infeasible < y.cases/50) {
		t.Error("too few of the cases are feasible, not for free, or infeasible")
	}
	return y
}

// TestCertificateOracle holds every certificate, and strategy optimal, against
// exhaustive search.
func TestCertificateOracle(t *testing.T) {
	t.Parallel()
	y := certify(t, oracleCases(t, 3000), 81, levels, func(*rand.Rand, *plannertest.Case) {})
	if y.named < y.helps*99/100 || y.close < y.named*85/100 {
		t.Errorf("unmet names %d of %d constraints that could give way, %d with the least value", y.named, y.helps, y.close)
	}
	if y.reached < y.feasible*95/100 {
		t.Errorf("optimal reaches the optimum in %d of %d feasible cases, want 95 %%", y.reached, y.feasible)
	}
}

// rivals are the strategies that optimal promises not to be worse than.
var rivals = []string{planner.Mixed, planner.MinMig, planner.MinTable}

// optimalIsBest returns an error if strategy optimal is worse than one that it
// promises not to be worse than.
func optimalIsBest(x *truth) error {
	best, err := x.plan(planner.Optimal, planner.CertificateFast)
	if err != nil {
		return err
	}
	score := plannertest.ScoreOf(x.s, x.c.Options, plannertest.AssignmentOf(best))
	for _, strategy := range rivals {
		p, err := x.plan(strategy, planner.CertificateFast)
		if err != nil {
			return err
		}
		if planner.Better(p, best) {
			return fmt.Errorf("%s is better than optimal", strategy)
		}
		other := plannertest.ScoreOf(x.s, x.c.Options, plannertest.AssignmentOf(p))
		fewer := other.Broken < score.Broken || other.Broken == 0 && other.Violated < score.Violated
		if fewer || other.Violated == 0 && above(score.Objective, other.Objective, x.noise) {
			return fmt.Errorf("optimal has %+v, %s has %+v", score, strategy, other)
		}
	}
	return nil
}

// tally sums up how close certificates and strategy optimal are.
type tally struct {
	cases, feasible, priced, infeasible int
	reached                             int // optima by strategy optimal
	helps, named                        int // constraints that could give way, and those said to be unmet
	close                               int // of the latter, those within 1 % of the least, θ counted from −1
	bounds                              [2]struct {
		exact, infeasible int
		ratio             float64 // bound / optimum, summed
	}
}

// add counts a plan of strategy optimal.
func (y *tally) add(x *truth, p *planner.Plan, level planner.CertificateLevel) {
	b := &y.bounds[0]
	if level == planner.CertificateTight {
		b = &y.bounds[1]
	} else {
		y.count(x, p)
		y.countUnmet(x, p.Certificate, len(p.HotKeys) > 0)
	}
	if p.Certificate.Infeasible {
		b.infeasible++
	}
	if x.feasible() && x.best.Objective > 0 {
		b.ratio += min(1, p.Certificate.LowerBound/x.best.Objective)
		if !above(x.best.Objective, p.Certificate.LowerBound*(1+1e-6), x.noise) {
			b.exact++
		}
	}
}

func (y *tally) countUnmet(x *truth, c *planner.Certificate, hot bool) {
	if !c.Infeasible {
		return
	}
	possible, _ := x.leastOf(true, hot)
	y.helps += len(possible)
	for _, u := range c.Unmet {
		y.named++
		if least := possible[limit{u.Constraint, u.Resource}]; 1+least <= (1+u.AtLeast)*1.01 {
			y.close++
		}
	}
}

func (y *tally) count(x *truth, p *planner.Plan) {
	y.cases++
	switch {
	case !x.feasible():
		y.infeasible++
		return
	case x.best.Objective > 0:
		y.priced++
	}
	y.feasible++
	score := plannertest.ScoreOf(x.s, x.c.Options, plannertest.AssignmentOf(p))
	if score.Violated == 0 && !above(score.Objective, x.best.Objective, x.noise) {
		y.reached++
	}
}

func (y *tally) String() string {
	var b strings.Builder
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	fmt.Fprintf(&b, "%d cases: %.1f %% feasible, of these %.1f %% not for free\n", y.cases, share(y.feasible, y.cases),
		share(y.priced, y.feasible))
	fmt.Fprintf(&b, "optimal reaches the optimum in %d of %d feasible cases (%.2f %%)\n", y.reached, y.feasible,
		share(y.reached, y.feasible))
	fmt.Fprintf(&b, "unmet names %d of %d constraints that could give way, %d with about the least value\n", y.named,
		y.helps, y.close)
	for i, level := range levels {
		v := y.bounds[i]
		if v.ratio == 0 {
			continue // nobody looked
		}
		fmt.Fprintf(&b, "certificate %-5s: bound / optimum %.4f on average, the optimum itself in %.1f %%; %.1f %% of the "+
			"infeasible cases proven so\n",
			level, v.ratio/float64(max(1, y.priced)), share(v.exact, y.priced), share(v.infeasible, y.infeasible))
	}
	return b.String()
}

// TestBalanceOracle does the same for the least θ within a migration limit.
func TestBalanceOracle(t *testing.T) {
	t.Parallel()
	balance(t, oracleCases(t, 400), 82, func(*rand.Rand, *plannertest.Case) {})
}

// balance holds plans of least θ against exhaustive search of varied cases that change makes of others.
func balance(t *testing.T, n int, seed uint64, change func(*rand.Rand, *plannertest.Case)) {
	t.Helper()
	var mu sync.Mutex
	cases, feasible, reached, exact := 0, 0, 0, 0
	eachVaried(t, n, seed, func(r *rand.Rand, c *plannertest.Case) (string, func(*plannertest.Case) error) {
		change(r, c)
		plannertest.LimitMigration(r, c)
		for _, level := range levels {
			p, best, err := judgeBalance(c, level)
			if err != nil {
				return "optimal, certificate " + string(level), func(d *plannertest.Case) error {
					_, _, err := judgeBalance(d, level)
					return err
				}
			}
			mu.Lock()
			cases++
			if best != nil {
				feasible++
				if p.Theta.After <= best.Theta+1e-9 {
					reached++
				}
				if p.Certificate.LowerBound >= best.Theta-1e-9 {
					exact++
				}
			}
			mu.Unlock()
		}
		return "", nil
	})
	if t.Failed() {
		return
	}
	t.Logf("%d plans, %d of them feasible; optimal reaches the least θ in %d, the bound is the least θ in %d", cases,
		feasible, reached, exact)
	if feasible < cases/2 {
		t.Error("too few of the cases are feasible")
	}
}

// judgeBalance plans a case of least θ with strategy optimal, and returns the
// best there is, nil if nothing meets the limits, and what is wrong.
func judgeBalance(c *plannertest.Case, level planner.CertificateLevel) (*planner.Plan, *plannertest.Balance, error) {
	s, o := c.Snapshot(), c.Options
	o.Certificate = level
	p, err := planner.Run(planner.Optimal, s, o)
	if err != nil {
		return nil, nil, err
	}
	_, best, ok := plannertest.OptimalTheta(s, o)
	a := plannertest.AssignmentOf(p)
	score := plannertest.ScoreOf(s, o, a)
	unseen := 0.0
	if o.MigrationLimit.Unit != planner.MigrationKeys {
		unseen = 0x1p-56 * plannertest.ProblemOf(s, o).AllState // each state below 2⁻⁶² of all counts as nothing
	}
	within := true
	for _, of := range p.Resources {
		for d, x := range of.Instances {
			within = within && (!s.Instances[d].Live() || x.After <= x.Bound*(1+1e-9))
		}
	}
	met := within && score.TableExcess == 0 &&
		plannertest.Migrated(s, o, a) <= plannertest.MigrationAllowance(s, o)*(1+1e-9)+unseen
	const noise = 1e-12 // θ is a difference to 1
	x := p.Certificate
	switch {
	case x == nil:
		return p, nil, errors.New("no certificate")
	case !(x.LowerBound >= 0) || math.IsInf(x.LowerBound, 0):
		return p, nil, fmt.Errorf("lower bound %v", x.LowerBound)
	case x.Infeasible && (ok || x.LowerBound != 0):
		return p, nil, fmt.Errorf("called infeasible with lower bound %v; the best is %+v (%t)", x.LowerBound, best, ok)
	case ok && p.Proven() > best.Theta+noise*(1+best.Theta):
		return p, nil, fmt.Errorf("lower bound %v above the optimum %v", p.Proven(), best.Theta)
	case ok && !met:
		return p, nil, fmt.Errorf("the plan does not meet the limits, but θ = %v is possible", best.Theta)
	case x.Infeasible != (len(x.Unmet) > 0):
		return p, nil, fmt.Errorf("infeasible %t, unmet %+v", x.Infeasible, x.Unmet)
	}
	if err := judgeGap(x, p.Theta.After, met); err != nil {
		return p, nil, err
	}
	for _, u := range x.Unmet {
		if err := judgeUnmetOfBalance(u, s, o); err != nil {
			return p, nil, err
		}
	}
	if !ok {
		return p, nil, nil
	}
	return p, &best, nil
}

func judgeUnmetOfBalance(u planner.Unmet, s *planner.Snapshot, o planner.Options) error {
	switch {
	case u.Constraint == planner.ConstraintMigration:
		least := plannertest.LeastMigration(s, o)
		if all := plannertest.ProblemOf(s, o).AllState; o.MigrationLimit.Unit == planner.MigrationFraction && all > 0 {
			least /= all
		}
		return judgeLeast(u, o.MigrationLimit.Amount, least, 1e-12*least)
	case u.Constraint == planner.ConstraintTable && o.TableLimit != nil:
		least := math.Inf(1)
		if size, ok := plannertest.LeastTable(s, o); ok {
			least = float64(size)
		}
		return judgeLeast(u, float64(*o.TableLimit), least, 0)
	}
	return fmt.Errorf("unmet %+v is no constraint of the case", u)
}

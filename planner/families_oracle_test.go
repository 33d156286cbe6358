package planner_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// families are the generators of tiny cases: those of plannertest, and those of the
// inputs on which plans are measured.
func families(t *testing.T) map[string]func(*rand.Rand) *plannertest.Case {
	all := map[string]func(*rand.Rand) *plannertest.Case{
		"tiny":   plannertest.Tiny,
		"varied": plannertest.Varied,
		"zipf":   func(r *rand.Rand) *plannertest.Case { return plannertest.Medium(r, 2+r.IntN(4), 1+r.IntN(3)).Vary(r) },
	}
	for _, family := range cases.Families {
		all[string(family)] = func(r *rand.Rand) *plannertest.Case {
			c, err := cases.DrawTiny(family, r.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			return plannertest.CaseOf(c.Snapshot, c.Options).Vary(r)
		}
	}
	return all
}

// TestFamiliesOracle holds certificates and strategy optimal against exhaustive search on
// tiny cases of every family, every other of them with magnitudes far apart:
//
//	PLANNERD_ORACLE=100000 go test -run FamiliesOracle -timeout 0 ./planner
func TestFamiliesOracle(t *testing.T) {
	t.Parallel()
	for name, draw := range families(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fnv.New64()
			h.Write([]byte(name))
			r := rand.New(rand.NewPCG(1, h.Sum64()))
			found := findings{kinds: map[string]int{}}
			for i := range oracleCases(t, 200) {
				c := draw(r)
				if i%2 == 1 {
					c.Mix(r)
				}
				found.judge(t, c, i/2%2)
			}
			t.Log(found.String())
		})
	}
}

// findings counts what is wrong, by kind.
type findings struct {
	kinds map[string]int
	ties  int // cases that are judged no further, see hotElsewhere
	tally
}

// judge judges a case. The first of a kind is made small, as long as it fails alike, and
// reported.
func (y *findings) judge(t *testing.T, c *plannertest.Case, turn int) {
	t.Helper()
	x := newTruth(c)
	p, err := judgeStrictly(x, turn)
	if err == nil {
		if hotElsewhere(x, p) {
			y.ties++
		} else {
			y.add(x, p, levels[0])
		}
		return
	}
	kind := kindOf(err)
	if y.kinds[kind]++; y.kinds[kind] == 1 {
		failShrunk(t, t.Name(), c, func(d *plannertest.Case) error {
			if _, err := judgeStrictly(newTruth(d), turn); kindOf(err) == kind {
				return err
			}
			return nil
		})
	}
}

func (y *findings) String() string {
	s := fmt.Sprintf("%swith hot keys elsewhere: %d\n", y.tally.String(), y.ties)
	for kind, n := range y.kinds {
		s += fmt.Sprintf("%d times: %s\n", n, kind)
	}
	return s
}

// judgeStrictly forgives no more than 1e-9 of the optimum, however heavy other keys are.
// It returns the plan of strategy optimal.
func judgeStrictly(x *truth, turn int) (*planner.Plan, error) {
	x.noise = 1e-9 * x.best.Objective
	best, err := x.judge(planner.Optimal, levels[turn])
	if best != nil && hotElsewhere(x, best) {
		return best, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s, certificate %s: %w", planner.Optimal, levels[turn], err)
	}
	if _, err := x.judge(planner.Mixed, levels[1-turn]); err != nil {
		return nil, fmt.Errorf("%s, certificate %s: %w", planner.Mixed, levels[1-turn], err)
	}
	for _, strategy := range rivals {
		p, err := x.plan(strategy, planner.CertificateOff)
		if err != nil {
			return nil, err
		}
		if planner.Better(p, best) && x.goal(p, x.noise).Compare(x.goal(best, 0)) < 0 {
			return nil, fmt.Errorf("%s is better than optimal", strategy)
		}
	}
	return best, nil
}

// hotElsewhere reports whether a plan has a hot key where exhaustive search has not:
// loads differ so little then that the sums of one of them do not tell.
func hotElsewhere(x *truth, p *planner.Plan) bool {
	hot := plannertest.ProblemOf(x.s, x.c.Options).Hot
	return slices.ContainsFunc(p.HotKeys, func(k planner.HotKey) bool {
		at := hot[int(k.Item)]
		return len(at) > 0 && at[0] != int(k.Instance)
	})
}

// goal is the score of a plan as far as no tie has to be broken, with an objective that is
// greater by noise.
func (y *truth) goal(p *planner.Plan, noise float64) plannertest.Score {
	sc := plannertest.ScoreOf(y.s, y.c.Options, plannertest.AssignmentOf(p))
	return plannertest.Score{
		Violated: sc.Violated, Excess: sc.Excess, TableExcess: sc.TableExcess, Objective: sc.Objective + noise,
	}
}

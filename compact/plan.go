package compact

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"plannerd/planner"
)

// KeyPlan is a plan of keys that was made of their classes.
type KeyPlan struct {
	*planner.Plan
	// Classes is what the strategy decided about the items, without a certificate.
	Classes *planner.Plan
	// Error is, by instance, how far the load that the records come to is off: |estimated − actual| /
	// actual, 0 where both are 0.
	Error []planner.Comparison
}

// Plan plans with the strategy of that name on the classes, and brings the
// result back to keys: figures and certificate are those of the real problem. A
// plan that violates what the one of the classes met is repaired; if that does not
// help, the strategy plans on the keys themselves. All of this shares the work budget,
// and whatever is cut short ends it: a plan with the work units of this one as its
// budget is the same. The error is a [planner.InputError] or [planner.ErrStopped].
func (c *Compression) Plan(strategy string, o planner.Options) (*KeyPlan, error) {
	coarse := o
	coarse.Certificate = planner.CertificateOff
	classes, err := planner.Run(strategy, c.Items, coarse)
	if err != nil {
		return nil, err
	}
	w := work{budget: o.WorkBudget}
	w.include(classes)
	goals := goalsMet(classes)
	repairs, repair := w.goesOn(), goals
	if !repairs {
		repair = nil // then it does no work
	}
	o.WorkBudget = w.left()
	moves := c.keysOf(c.ofClasses(classes.Moves), slack(classes))
	plan, err := planner.Complete(strategy, c.Keys, o, append(moves, c.ofKeys(classes)...), c.splitsOf(classes), repair...)
	if err != nil {
		return nil, err
	}
	if repairs {
		w.include(plan)
	}
	proven := plan.Certificate != nil && plan.Certificate.Infeasible
	if !proven && len(goalsMet(plan)) < len(goals) && w.goesOn() {
		o.WorkBudget = w.left()
		if own, err := planner.Run(strategy, c.Keys, o); err == nil {
			w.include(own)
			if planner.Better(own, plan) {
				plan = own
			}
		} else if errors.Is(err, planner.ErrStopped) {
			w.end = planner.EndWorkBudget
		}
	}
	plan.Options.WorkBudget, plan.WorkUnits = coarse.WorkBudget, w.used
	plan.EndReason = cmp.Or(w.end, planner.EndCompleted)
	return &KeyPlan{plan, classes, c.errors(plan)}, nil
}

// ofClasses are the moves of classes among those of items.
func (c *Compression) ofClasses(moves []planner.Move) []planner.Move {
	return slices.DeleteFunc(slices.Clone(moves), func(m planner.Move) bool { return c.IsNamed(m.Item) })
}

// ofKeys are the moves of whole keys that are named, as moves of keys.
func (c *Compression) ofKeys(p *planner.Plan) (moves []planner.Move) {
	split := make(map[int32]bool, len(p.Splits))
	for _, x := range p.Splits {
		split[x.Item] = true
	}
	for _, m := range c.MovesNamed(p) {
		if m.Reason != planner.ReasonGather && !split[m.Item] {
			m.Item = c.keyOf(m.Item)
			moves = append(moves, m)
		}
	}
	return moves
}

// keyOf is the key that an item is, of those that are named.
func (c *Compression) keyOf(item int32) int32 { return c.Named[int(item)-len(c.Records)] }

// splitsOf are the splits of a plan of the items, of keys.
func (c *Compression) splitsOf(p *planner.Plan) []planner.Split {
	splits := make([]planner.Split, len(p.Splits))
	for i, x := range p.Splits {
		splits[i] = planner.Split{Item: c.keyOf(x.Item), Parts: x.Parts}
	}
	slices.SortFunc(splits, func(a, b planner.Split) int { return cmp.Compare(a.Item, b.Item) })
	return splits
}

// work is what was done under a budget.
type work struct {
	budget, used int64
	end          planner.EndReason // of what was cut short; empty: nothing was
}

// include counts what a plan took. What ran to its end took a unit at least: so a budget
// tells whether it ran.
func (w *work) include(p *planner.Plan) {
	if p.EndReason == planner.EndCompleted {
		w.used += max(1, p.WorkUnits)
		return
	}
	w.used += p.WorkUnits
	w.end = p.EndReason
}

// goesOn reports whether more may be done.
func (w *work) goesOn() bool { return w.end == "" && (w.budget == 0 || w.used < w.budget) }

// left is the budget of what comes next; 0: no bound, or it does no work.
func (w *work) left() int64 { return max(0, w.budget-w.used) }

// goalsMet are the constraints that a plan meets, as far as its strategy could do
// anything about them. Whoever knows a migration limit keeps to it.
func goalsMet(p *planner.Plan) []planner.Constraint {
	goals := []planner.Constraint{}
	if p.Options.Objective == planner.MinImbalance {
		goals = append(goals, planner.ConstraintMigration)
	} else if !slices.Contains(p.Causes, planner.CauseNothingMovable) {
		goals = append(goals, planner.ConstraintTheta)
	}
	if p.TableWithinLimit {
		goals = append(goals, planner.ConstraintTable)
	}
	return goals
}

// GreatestError is the greatest error of any instance.
func (p *KeyPlan) GreatestError() (greatest planner.Comparison) {
	for _, e := range p.Error {
		greatest.Before, greatest.After = max(greatest.Before, e.Before), max(greatest.After, e.After)
	}
	return greatest
}

// errors returns the relative errors of the estimated loads.
func (c *Compression) errors(p *planner.Plan) []planner.Comparison {
	estimated := make([]planner.Comparison, len(c.Keys.Instances))
	for d, x := range c.Keys.Instances {
		estimated[d] = planner.Comparison{Before: x.ResidualCost, After: x.ResidualCost}
	}
	for i, r := range c.Records {
		estimated[c.Items.Current[i]].Before += float64(float64(r.Count) * float64(r.Cost*c.Scales.Cost))
	}
	for d := range estimated {
		estimated[d].After = estimated[d].Before
	}
	c.addExact(p, estimated)
	for _, m := range p.Moves {
		if m.Reason == planner.ReasonGather || c.IsNamed(c.ClassOf[m.Item]) {
			continue // its cost counts where the key is, or that is known
		}
		cost := float64(c.Records[c.ClassOf[m.Item]].Cost * c.Scales.Cost)
		estimated[m.From].After -= cost
		estimated[m.To].After += cost
	}
	for d, x := range p.Instances {
		estimated[d].Before = relativeError(estimated[d].Before, x.Before)
		estimated[d].After = relativeError(estimated[d].After, x.After)
	}
	return estimated
}

// addExact adds what the keys that are named cost, which is known.
func (c *Compression) addExact(p *planner.Plan, loads []planner.Comparison) {
	if len(c.Named) == 0 {
		return
	}
	before, after := make(map[int32][]planner.Part), make(map[int32][]planner.Part)
	for _, k := range c.Named {
		before[k] = []planner.Part{{Instance: c.Keys.Current[k], Weight: planner.PartUnits}}
		after[k] = before[k]
	}
	for _, m := range p.Moves {
		if _, named := after[m.Item]; named && m.Reason != planner.ReasonGather {
			after[m.Item] = []planner.Part{{Instance: m.To, Weight: planner.PartUnits}}
		}
	}
	for _, x := range c.Keys.Splits {
		before[x.Item] = x.Parts
	}
	for _, x := range p.Splits {
		after[x.Item] = x.Parts
	}
	merging := 0.0
	if s := p.Options.Splitting; s != nil {
		merging = s.MergeCost
	}
	costOn := func(k int32, parts []planner.Part, x planner.Part) float64 {
		cost := float64(c.Keys.Cost[k] * (float64(x.Weight) / planner.PartUnits))
		if len(parts) > 1 {
			cost += merging
		}
		return cost
	}
	for _, k := range c.Named {
		for _, x := range before[k] {
			loads[x.Instance].Before += costOn(k, before[k], x)
		}
		for _, x := range after[k] {
			loads[x.Instance].After += costOn(k, after[k], x)
		}
	}
}

// relativeError is |estimated − actual| / actual. No load at all is estimated
// right, but for rounding.
func relativeError(estimated, actual float64) float64 {
	if actual == 0 {
		return 0
	}
	return math.Abs(estimated-actual) / actual
}

// Resolve chooses the keys that carry out the class moves of a plan that was made
// of c's records elsewhere, and returns them as moves of c.Keys. Counts of equal
// records add up. A move of keys that do not exist is a [planner.InputError]; its
// Row is an index into moves.
func (c *Compression) Resolve(moves []Record) ([]planner.Move, error) {
	merged := make([]planner.Move, 0, len(moves))
	left := make(map[int]int64)
	for i, m := range moves {
		bad := func(field, detail string) error {
			return planner.InvalidRow(i, field, detail)
		}
		class, ok := slices.BinarySearchFunc(c.Records, m, Record.compareClass)
		if !ok {
			return nil, bad("", "is of a class without keys")
		}
		to := slices.IndexFunc(c.Keys.Instances, func(d planner.Instance) bool { return d.ID == m.Planned })
		if to < 0 || !c.Keys.Instances[to].Live() {
			return nil, bad("Planned", "is not a live instance")
		}
		if _, seen := left[class]; !seen {
			left[class] = c.Records[class].Count
		}
		if m.Count < 1 || m.Count > left[class] {
			return nil, bad("Count", "must be ≥ 1, and all of a class together at most the number of its keys")
		}
		left[class] -= m.Count
		if int32(to) != c.Items.Current[class] {
			merged = append(merged, planner.Move{Item: int32(class), From: c.Items.Current[class], To: int32(to),
				Count: m.Count})
		}
	}
	return c.keysOf(mergeMoves(merged), make([]float64, len(c.Keys.Instances))), nil
}

// mergeMoves adds up moves of one class to one instance, and sorts, so that it
// makes no difference how they were listed.
func mergeMoves(moves []planner.Move) []planner.Move {
	slices.SortFunc(moves, func(a, b planner.Move) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.To, b.To))
	})
	out := moves[:0]
	for _, m := range moves {
		if last := len(out) - 1; last >= 0 && out[last].Item == m.Item && out[last].To == m.To {
			out[last].Count += m.Count
			continue
		}
		out = append(out, m)
	}
	return out
}

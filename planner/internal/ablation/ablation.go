// Package ablation leaves out components of strategy optimal and of the certificate, to
// measure what each is worth.
package ablation

import "sync/atomic"

// Component is a part that can be left out. What is left still makes plans and proofs
// that are true, though maybe worse ones.
type Component string

// The components: of both, of the certificate, of the search for plans.
const (
	ReducedCostFilter Component = "reduced-cost filter" // keys that surely stay are not looked at
	CoreSampling      Component = "core sampling"       // prices come from a core of the keys

	WholeKeyCovers Component = "whole-key covers"
	CoverBranching Component = "branching of covers"
	EntryPrices    Component = "entry prices" // under which whole keys cost most
	BranchAndBound Component = "branch and bound"

	Pairs         Component = "pairs of shifts"
	Penalties     Component = "adaptive penalties"
	Perturbations Component = "perturbations"
	Rounds        Component = "rounds"      // of the search, from all starts
	LeastTable    Component = "least table" // another start from the fewest entries
)

// Components are all of them.
var Components = []Component{
	ReducedCostFilter, CoreSampling, WholeKeyCovers, CoverBranching, EntryPrices, BranchAndBound,
	Pairs, Rounds, Penalties, Perturbations, LeastTable,
}

var without atomic.Pointer[Component]

// Without leaves a component out of everything that is planned from now on, in the whole
// process. Empty: none.
func Without(c Component) { without.Store(&c) }

// Off reports whether a component is left out.
func Off(c Component) bool {
	w := without.Load()
	return w != nil && *w == c
}

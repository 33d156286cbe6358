// Package hindsight tells how little state anybody could have moved who had known all
// intervals of a stream in advance: a lower bound that holds for every policy, and the
// best sequence of assignments that was found.
//
// An interval t runs under the assignment F_t, and the plan after it makes F_{t+1}.
// Going from F_t to F_{t+1} moves the state of the keys whose instance changes. The
// state is that of interval t, as a share of all its state: the same for all policies,
// whatever they forecast. M is the sum over all plans.
//
// A key stays where it is until the plan after the first interval that names it. The
// first interval runs under the same assignment for all, and loads are bounded from
// some interval on. Under rules and cordons a key may be where they let it be, or where
// the policy had it in that interval: a key that came where it may not be is there until
// the next plan.
//
// The bound prices load instead of limiting it (Lagrangian relaxation, Held and Karp
// 1971): under given prices each key alone takes its cheapest path through intervals and
// instances, which dynamic programming finds. Prices are raised by a subgradient method.
package hindsight

// Package service is what can be done with operators and their plans, whatever protocol asks for it.
//
// [Service] is made of parts, one package each, and each knows only those before it in this list:
//
//   - figures: what a plan reports about itself, as it is stored and answered
//   - listing: what is long in a plan, to be filtered, sorted and paged
//   - reading: what the store has, and caches of what never changes
//   - claim: requests that happen once
//   - scheme, with table and layout: statistics, base, result, and how a plan is made under a scheme
//   - schemes: which schemes there are
//   - intake: reports and statistics of an interval
//   - foresight: forecasts, policies, backtests, advice
//   - archive: what is kept of plans
//   - feed: committed tables, and who waits for them
//   - propose: making plans and deciding whether they wait
//   - life: approval, start, acknowledgements, commit, abort; configurations
//
// Refusals are of type [refusal.Error], input that does not fit is a [planner.InputError]. The
// package knows neither HTTP nor how answers are written. A service keeps no state between calls
// but caches of what never changes, so any number of processes may work on one store.
package service

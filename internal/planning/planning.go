// Package planning is the life of an operator, whatever protocol asks for it: its
// configuration, the plans that are made of its statistics or of the reports of its
// instances, their way from a proposal to a committed table, and what the committed
// table says about keys.
//
// [Service] has a method for everything that can be asked for. Refusals are of type
// [*Error], input that does not fit is a [planner.InputError]. The package knows
// neither HTTP nor how answers are written: long lists are handed out as
// [statsio.List], which reads its records where they are.
//
// A service keeps no state between calls but caches of immutable things. Any number
// of processes may work on one store.
//
// Files are in layers: none refers to one that refers to it.
package planning

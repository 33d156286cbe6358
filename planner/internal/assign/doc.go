// Package assign holds what strategies work on: a [Problem] in dense columns under a
// [Goal], the [Assignment] while it is being made, its [Score], and the orders in which
// keys are placed. It knows neither keys nor snapshots: an item is a number, and a
// comparator breaks ties.
//
// A Problem never changes once it is made. Loads and states are sums in fixed point
// (package exact), so that no result depends on the order of the rows or on the number
// of processors.
package assign

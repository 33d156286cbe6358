// Package optimal makes plans that are close to the bound: it rounds the prices of a
// proof to assignments (package bound), improves them (package search), and compares
// them with those of other strategies. It also finds the least imbalance within an
// allowance, and repairs assignments that were decided on elsewhere.
package optimal

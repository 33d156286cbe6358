// Package life carries plans from a proposal to a committed table: approval, start,
// acknowledgements, batches, commit, stop, abort, and the keys that classes stand for. It gives
// operators their configurations, and ends them. It never asks how a plan was made.
package life

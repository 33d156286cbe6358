// Package propose makes plans: of statistics or reports, what-ifs and replays. It decides whether
// another plan is in the way, whether a plan waits for approval and why, in which batches it is
// handed over and whom it awaits, and stores it. It never asks what becomes of a stored plan.
package propose

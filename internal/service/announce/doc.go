// Package announce tells others what happens to operators and their plans. The store writes each step of a
// plan into an outbox itself; a look every few seconds adds what no step says. It never asks how events are
// sent, nor decides anything about plans.
package announce

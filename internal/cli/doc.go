// Package cli is what commands have in common: what a command may touch of the world, how it
// prints results for people and for programs, how it reads flags, writes figures and shows
// progress. It knows no command and no planner.
package cli

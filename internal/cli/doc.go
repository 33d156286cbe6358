// Package cli is what command lines have in common: what a command may touch of the world,
// how it prints results for people and for programs, how it writes figures and shows progress;
// and the frame of the programs beside the service: their flags, signals and exit codes. It
// knows no command and no planner.
package cli

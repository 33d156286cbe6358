// Package offline has the commands that plan the statistics of a file and compare strategies
// on it, and how plans are shown. It needs no server, and how a plan is made is for the planner.
package offline

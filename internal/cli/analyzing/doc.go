// Package analyzing has the commands that analyse the statistics of a file: token rings,
// partial key grouping, key ranges, and all schemes side by side. It knows how their results
// are shown; what they are is for internal/analyses to find.
package analyzing

// Package layout has the schemes without a routing table: token rings, key ranges and partial key
// grouping. A layout says where every key belongs, and a plan makes another layout. What the three
// differ in is a kind each. The package never asks whether a plan is carried out.
package layout

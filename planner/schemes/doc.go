// Package schemes lays the ways of spreading keys over task instances side by side,
// on the same keys, the same instances and the same tolerance: plain hashing, a token
// ring whose tokens are redistributed ("DPA Load Balancer"), partial key grouping
// ("Partial Key Grouping"), routing tables by mixed routing ("Parallel Stream
// Processing Against Workload Skewness and Variance") and by strategy optimal, and
// key ranges (Shuffler proposal). [Compare] measures them all by one rule, and
// [Recommend] says which one to use and why.
//
// The package is pure, and deterministic for the same input and seeds, whatever the
// order of the keys, as far as they do not come as a stream.
package schemes

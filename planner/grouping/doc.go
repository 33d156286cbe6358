// Package grouping simulates how a stream's messages are spread over the workers
// of an operator, as in "Partial Key Grouping: Load-Balanced Partitioning of
// Distributed Streams" (in short, partial-key-grouping).
//
// A [Stream] is a sequence of m messages, each with a key: a recorded sample, or
// frequencies and a seed that decides their order. Its messages enter through S
// sources, which send each of them to one of W workers. The [Scheme] says how a
// source chooses. [Run] follows a whole stream and answers with a [Result]: the
// loads, the imbalance through time, the state held, and bounds on what any
// choice among the same candidates could have reached.
//
// The load L_i(t) of worker i is the number of the first t messages that went
// to it, and the imbalance is I(t) = max_i L_i(t) − t/W.
//
// Candidate j of a key, j = 0, 1, …, is the first half of murmur3_x64_128 with
// seed [Options.HashSeed] + j of the key, as an unsigned number modulo W. The
// candidates of a key may coincide, unless [Options.Distinct] moves them apart.
//
// The package is pure, and deterministic for the same stream and options.
package grouping

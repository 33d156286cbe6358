// Package analyses is what the HTTP API and the command line share of the analyses
// of token rings, partial key grouping, key ranges, and of all schemes side by
// side: requests in, results out, both as they stand in JSON.
//
// An [Input] holds keys, and either a stream of them or what they cost. Each
// analysis is one function of a context, an input, a request and a [Progress]:
// [RunRing], [RunPKG], [RunRanges] and [RunSchemes]. The types of requests and results are
// generated from the contract; the zero value of a request means the defaults that it
// names. All of them return
//
//   - a planner.InputError, whose field is that of the JSON (a path such as
//     "nodes/3/tokens"; a row is one of the input),
//   - the error of the context, when that ended first, or
//   - a result whose lists are bounded, whatever the input: by the request's "top"
//     or "points", or by the number of nodes, workers or followers in it.
//
// The same input and request give the same result; the order of rows makes no
// difference, that of messages does.
package analyses

//go:generate ./generate.sh

// Package analyses is what the HTTP API and the command line share of the analyses
// of partial key grouping and of all schemes side by side: requests in, results out,
// both as they stand in JSON.
//
// An [Input] holds keys, and either a stream of them or what they cost. Each
// analysis is one function of a context, an input, a request and a [Progress]:
// [RunPKG] and [RunSchemes]. The types of requests and results are generated from the
// contract; the zero value of a request means the defaults that it names. Both return
//
//   - a planner.InputError, whose field is that of the JSON (a path such as
//     "instances/3/capacity"; a row is one of the input),
//   - the error of the context, when that ended first, or
//   - a result whose lists are bounded, whatever the input: by the request's "top"
//     or "points", or by the number of workers in it.
//
// The same input and request give the same result; the order of rows makes no
// difference, that of messages does.
package analyses

//go:generate ./generate.sh

// Package claim makes a request that has an idempotency key happen once: it claims the key, keeps
// the answer together with what the request changed, and gives the answer again. It never asks
// what the request is about.
package claim

// Package httpkit is what the HTTP API needs of HTTP alone: middleware, content
// negotiation and codings, ETags and preconditions, problem documents, streamed
// answers and page tokens. It knows nothing of operators, plans or stores.
//
// Failures that only HTTP knows are errors of this package. Which status and
// which code they are answered with is the caller's decision.
package httpkit
